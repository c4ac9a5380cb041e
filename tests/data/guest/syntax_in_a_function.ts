async function load(path: string) {
  const text = await mux.fix.echo({ text: path });
  return text.split("\n").map((line) => line..trim());
}
return load("x");
