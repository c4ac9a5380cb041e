// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
const part: any = new Proxy({ type: "text", text: "" }, {
  get() {
    for (;;);
  },
});
mux.emit(part);
