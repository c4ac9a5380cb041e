async function load() {
  return 3;
}
async function report() {
  return { total: await load() };
}
