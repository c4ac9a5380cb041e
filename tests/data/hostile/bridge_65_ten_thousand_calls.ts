// The thousandth is the last; the others are told so.
// must: result [1000,9000,"limit"]
// args: --timeout 60s
// must on quickjs: error memory
const calls = Array.from({ length: 10_000 }, (_, i) => mux.fix.add({ a: i, b: 1 }));
const settled = await Promise.allSettled(calls);
const refused = settled.filter((s) => s.status === "rejected");
return [settled.length - refused.length, refused.length, refused[0].reason.kind];
