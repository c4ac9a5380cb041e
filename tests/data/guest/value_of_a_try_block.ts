try {
  const { sum } = await mux.fix.add({ a: 1, b: 2 });
  sum;
} catch (error) {
  console.error(error);
}
