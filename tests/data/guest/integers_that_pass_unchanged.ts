// input: {"id":725653563933458433,"others":[18446744073709551615,-9223372036854775807],"small":9007199254740991,"even":9007199254740994}
const { id, others } = mux.input;
const echoed = await mux.fix.echo_json({ value: { id, others, text: `/items/${id}/x`, big: BigInt(id) } });
console.log(id, others, String(id));
mux.emit({ type: "text", text: `${id}` });
return { input: mux.input, echoed, parsed: JSON.parse('{"id":725653563933460445}'), literal: 725_653_563_933_459_001 };
