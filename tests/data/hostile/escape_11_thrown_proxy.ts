// A thrown proxy that answers every question with a failure.
// must: error runtime
// must on quickjs: error internal
throw new Proxy(new Error("inner"), {
  get() { throw new Error("no"); },
  getPrototypeOf() { throw new Error("no"); },
  ownKeys() { throw new Error("no"); },
  getOwnPropertyDescriptor() { throw new Error("no"); },
});
