// What the walk of the realm cannot see: values that only calls give.
// must: result []
const found: string[] = [];
const suspects = ["Deno", "__bootstrap", "ops", "core", "process", "require", "bootstrap", "internalBinding"];
const seen = new Set<object>();
const look = (value: any, path: string, depth: number) => {
  if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return;
  seen.add(value);
  for (const key of Reflect.ownKeys(value)) {
    if (suspects.includes(String(key))) found.push(`${path}.${String(key)}`);
  }
  if (depth < 4) look(Object.getPrototypeOf(value), `${path}.<prototype>`, depth + 1);
};
const error = (() => {
  try {
    mux.emit(undefined as any);
  } catch (e) {
    return e;
  }
})();
look(error, "error", 0);
look(error.constructor, "error.constructor", 0);
look(mux.call("a.b", {}).catch(() => {}), "promise", 0);
look(await mux.fix.add({ a: 1, b: 1 }), "result", 0);
look((function () { return this; })(), "this", 0);
look(setTimeout(() => {}, 0), "timer", 0);
look(structuredClone({ a: [new Map([[1, {}]])] }), "clone", 0);
look(console, "console", 0);
look(performance, "performance", 0);
return found;
