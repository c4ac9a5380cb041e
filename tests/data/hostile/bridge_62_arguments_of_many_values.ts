// Text takes many times its room as values: long ones are read a few at a time, beside all other work.
// must: result [200000,200000,200000,200000,["validation",true]]
const value = new Array(200_000).fill(1);
const echoed = async () => (await mux.fix.echo_json({ value })).value.length;
const wrong = async () => {
  try {
    await mux.fix.add({ a: 1, b: 2, ...value.slice(0, 20_000), c: value });
    await mux.fix.add({ a: "1", b: 2, c: value });
  } catch (error) {
    return [error.kind, error.message.includes("with more than 10000")];
  }
};
return await Promise.all([echoed(), echoed(), echoed(), echoed(), wrong()]);
