// input: [725653563933458433, 725653563933458434]
const [one, other] = mux.input;
console.log(one === other);
try {
  await mux.fix.echo_json({ value: { ids: [1, one] } });
} catch (error) {
  console.log(error.kind, error.message, error.path);
}
const exact = await mux.fix.echo_json({ value: [725653563933458433n, BigInt("725653563933458434")] });
return { exact, rounded: one };
