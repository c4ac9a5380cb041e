async function main() {
  return 3;
}
module.exports = { main };
