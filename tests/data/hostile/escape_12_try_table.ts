// Wasm is off in every way in which it could be had, so its exceptions are.
// must: result ["undefined","undefined"]
const realm: any = (() => {}).constructor;
return [typeof globalThis["WebAssembly"], typeof realm["WebAssembly"]];
