const three = await Promise.resolve(3);
const sum = await mux.fix.add({ a: three, b: 4 });
if (sum.sum === 7) return { early: true };
return "never";
