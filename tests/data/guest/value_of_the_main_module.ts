async function main() {
  return 3;
}
if (require.main === module) main();
