// One look at each field: what was checked is what is sent.
// must: result [1,1,"thrown"]
let types = 0;
let texts = 0;
mux.emit({
  get type() {
    return types++ === 0 ? "text" : "video";
  },
  get text() {
    return texts++ === 0 ? "first" : {};
  },
});
const thrown = new Proxy({}, {
  ownKeys() {
    throw new Error("thrown");
  },
});
try {
  mux.emit(thrown);
} catch (error) {
  return [types, texts, error.message];
}
