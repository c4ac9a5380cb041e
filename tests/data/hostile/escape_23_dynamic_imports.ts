// Nothing can be imported, whatever the address.
// must: result []
const loaded: string[] = [];
for (const address of ["file:///etc/passwd", "http://127.0.0.1/x.js", "data:text/javascript,export default 1", "node:fs", "npm:left-pad", "ext:core/ops", "ext:mux/mux.js", "./x.wasm"]) {
  try {
    await import(address);
    loaded.push(address);
  } catch (error) {
    if (!(error instanceof Error)) loaded.push(typeof error);
  }
}
return loaded;
