async function total() {
  return 3;
}
  export default total;
