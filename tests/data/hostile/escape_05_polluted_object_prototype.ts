// What a server gets and what comes back is as if nobody had polluted anything.
// must: result {"value":{"a":[1,{"b":"c"}]},"sum":5}
for (const name of ["then", "id", "kind", "message", "hint", "path", "details", "recoverable", "_timerId", "signal", "promise"]) {
  Object.defineProperty(Object.prototype, name, { get: () => "polluted", set() {}, configurable: true });
}
const echoed = await mux.fix.echo_json({ value: { a: [1, { b: "c" }] } });
const { sum } = await mux.fix.add({ a: 2, b: 3 });
for (const name of ["then", "id", "kind", "message", "hint", "path", "details", "recoverable", "_timerId", "signal", "promise"]) {
  delete Object.prototype[name];
}
return { value: echoed.value, sum };
