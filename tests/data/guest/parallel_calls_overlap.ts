// Each answers only when all eight are waiting.
const calls = Array.from({ length: 8 }, () => mux.fix.barrier({ name: "eight", parties: 8 }));
return (await Promise.all(calls)).length;
