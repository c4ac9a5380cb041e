// mistake: line 4, column 25: the result has `content`, no `text`
// says: text, content
const result = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md` });
const headings = result.text
  .split("\n")
  .filter((line) => line.startsWith("#"))
  .map((line) => line.replace(/^#+ /, ""));
return headings;
