const options = mux.input.options || {};
const pattern = new RegExp(options.pattern || "todo", options.caseSensitive ? "g" : "gi");
const files = mux.input.files || ["notes.md", "src/main.ts"];
let hits = 0;
for (const file of files) {
  const { content } = await mux.files.read_text_file({ path: mux.input.dir + "/" + file });
  hits += (content.match(pattern) || []).length;
}
if (mux.input.options && mux.input.options.verbose) console.log(hits);
return { hits, hasInput: "dir" in mux.input, n: Number(mux.input.n ?? 3) };
