// A call that is not sent takes no number: the next one is the first.
// must: result [1,{"sum":3}]
const refused = await Promise.allSettled([mux.call("q".repeat(17e6), {})]);
return [refused.length, await mux.fix.add({ a: 1, b: 2 })];
