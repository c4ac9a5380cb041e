// A call that nobody awaits is named in the console and does not outlive the run.
// must: result 1
// console: await it
mux.fix.sleep({ ms: 60_000 });
await mux.fix.add({ a: 1, b: 1 });
return 1;
