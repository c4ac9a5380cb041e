// The caller passes the handle of a long text that an earlier run left.
const { handle } = mux.input;
const whole = await mux.read(handle);
const page = await mux.read(handle, { offset: 0, length: 20 });
let offset = 0;
let pages = 0;
let length = 0;
while (offset !== null) {
  const part = await mux.read({ handle }, { offset, length: 200_000 });
  length += part.text.length;
  pages++;
  offset = part.next;
}
return { whole: whole.length, page: page.text.length, pages, complete: length === page.total };
