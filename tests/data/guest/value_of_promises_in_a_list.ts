[1, 2].map(async (n) => (await mux.fix.add({ a: n, b: 1 })).sum);
