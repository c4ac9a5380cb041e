async function main() {
  await null;
  return "called once";
}

main();
