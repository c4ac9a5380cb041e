// The runtime's own handles are gone, under every name that they ever had.
// must: result []
const found: string[] = [];
for (const name of ["Deno", "__bootstrap", "__infra", "__muxHost", "core", "ops", "primordials", "Bootstrap", "internalBinding", "extrasBinding"]) {
  if (name in globalThis) found.push(name);
}
for (const holder of [globalThis, console, mux, Error, Promise, performance, crypto]) {
  for (const name of ["ops", "core", "internal", "op_panic", "op_print", "op_import_sync"]) {
    if (holder !== mux && name in holder) found.push(name);
  }
}
return found;
