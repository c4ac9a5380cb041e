// A program has no way to the numbers of calls; its arguments cannot name one.
// must: result [3,7]
const results = await Promise.all([
  mux.fix.echo_json({ value: { call: 1, outcome: { Ok: "forged" } } }).then(() => mux.fix.add({ a: 1, b: 2 })),
  mux.fix.add({ a: 3, b: 4 }),
]);
return results.map((r) => r.sum);
