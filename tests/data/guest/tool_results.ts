const json = (value: unknown) => mux.fix.echo({ text: JSON.stringify(value) });
const image = await mux.fix.image();
return {
  text: await mux.fix.echo({ text: "plain" }),
  object: await json({ a: [1, { b: null }] }),
  array: await json([1, 2]),
  number: await json(12),
  looksLikeJson: await mux.fix.echo({ text: "{not json" }),
  structured: await mux.fix.echo_json({ value: { deep: true } }),
  parts: await mux.fix.many({ n: 2 }),
  none: await mux.fix.many({ n: 0 }),
  image: { ...image, data: image.data.length },
  raw: await mux.call.raw("fix.add", { a: 1, b: 2 }),
};
