// must: result ["validation"]
const handle = "h_" + "0".repeat(32);
const numbers: any[] = [-1, -0.5, NaN, Infinity, 2 ** 53, "1", 1n, null, [1], { valueOf: () => 1 }];
const asked = numbers.flatMap((n) => [
  mux.read(handle, { offset: n }),
  mux.read(handle, { length: n }),
]);
const ends = await Promise.allSettled(asked);
return [...new Set(ends.map((end) => (end.status === "rejected" ? end.reason.kind : "read")))];
