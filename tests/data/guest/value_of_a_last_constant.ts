const { sum } = await mux.fix.add({ a: 1, b: 2 });
const total = { sum };
