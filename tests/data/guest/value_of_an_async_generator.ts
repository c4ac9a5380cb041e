async function* pages() {
  yield 3;
}
pages();
