const names = Object.keys(mux.props).slice(-20);
const called: string[] = [];
for (const name of names) {
  const exact = name === "__proto__" ? name : name.replace(/_$/, "");
  const server = mux.props as any;
  const answers = await Promise.all([server[name](), server[exact]({}), mux.call(`props.${exact}`, {})]);
  called.push(`${name}: ${answers.map(({ tool }) => tool).join(" ")}`);
}
// Neither `await` nor JSON.stringify calls a tool.
const awaited: any = await mux.props;
return [called, JSON.stringify(mux.props), typeof awaited.then, (await awaited.add({ a: 1, b: 2 })).sum];
