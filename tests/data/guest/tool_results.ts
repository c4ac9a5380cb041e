// `my-server` answers in JSON, `fix` in text.
const json = (text: string) => mux["my-server"].echo({ text });
const text = (text: string) => mux.fix.echo({ text });
const image = await mux.fix.image();
return {
  void: [await json("None"), await json("null"), await json("")],
  number: await json("12"),
  empty: await json("[]"),
  object: await json('{"a":[1,{"b":null}]}'),
  array: await json(" [1, 2]"),
  looksLikeJson: await json("{not json"),
  emptyAgain: await json("[]"),
  text: await text("plain"),
  emptyText: [await text("[]"), await text("None"), await text(""), await text('{"a":1}')],
  structured: await mux.fix.echo_json({ value: { deep: true } }),
  parts: await mux.fix.many({ n: 2 }),
  none: await mux.fix.many({ n: 0 }),
  image: { ...image, data: image.data.length },
  raw: await mux.call.raw("fix.add", { a: 1, b: 2 }),
};
