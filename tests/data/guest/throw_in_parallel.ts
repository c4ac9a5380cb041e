const work = async (n: number) => {
  await mux.fix.echo({ text: "x" });
  if (n === 3) throw new Error(`number ${n}`);
  return n;
};
return await Promise.all([1, 2, 3, 4].map(work));
