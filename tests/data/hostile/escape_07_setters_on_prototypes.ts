// A setter on a prototype sees nothing that the bridge keeps.
// must: result {"sum":3,"seen":false}
const seen = new Set<string>();
for (const holder of [Array.prototype, Object.prototype]) {
  for (const key of ["0", "1", "value", "call", "server", "tool"]) {
    Object.defineProperty(holder, key, {
      set(value) {
        seen.add(typeof value);
        Object.defineProperty(this, key, { __proto__: null, value, writable: true, configurable: true, enumerable: true } as PropertyDescriptor);
      },
      get: () => undefined,
      configurable: true,
      __proto__: null,
    } as PropertyDescriptor);
  }
}
const { sum } = await mux.fix.add({ a: 1, b: 2 });
for (const holder of [Array.prototype, Object.prototype]) {
  for (const key of ["0", "1", "value", "call", "server", "tool"]) delete holder[key];
}
return { sum, seen: seen.has("function") };
