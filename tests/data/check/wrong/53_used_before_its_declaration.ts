// mistake: line 3, column 63: `dir` is declared below
// says: dir, before
const { content } = await mux.files.read_text_file({ path: `${dir}/notes.md` });
const dir = mux.input.dir;
const lines = content.split("\n");
return { dir, lines: lines.length };
