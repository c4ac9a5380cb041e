// A name that no tool has is compared with those that are there, which must not take longer the longer
// it is: the daemon would do nothing else.
// must: result ["limit","limit","limit","limit","limit","limit"]
const ends: unknown[] = [];
for (const length of [1_025, 1e6, 17e6]) {
  const name = "x".repeat(length);
  const calls = [() => mux.call(`fix.${name}`, {}), () => mux[name].tool({})];
  for (const call of calls) {
    try {
      ends.push(await call());
    } catch (error) {
      const named = error.message.includes("over the limit of 1024");
      ends.push(named && error.recoverable ? error.kind : error.message.slice(0, 200));
    }
  }
}
return ends;
