async function main() {
  return 3;
}
main().catch(console.error);
