const text = await mux.fix.echo({ text: "Created issue 725653563933458433." });
const id = Number(/\d+/.exec(text)[0]);
return (await mux.fix.echo_json({ value: id })).value;
