async function main() {
  return 3;
}
main().then(console.log);
