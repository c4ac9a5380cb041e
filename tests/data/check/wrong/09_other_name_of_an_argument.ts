// mistake: line 6, column 56: the argument is `path`, not `file_path`
// says: file_path
const folder = mux.input.dir;
const results = {};
for (const name of ["notes.md", "sales.csv"]) {
  const { content } = await mux.files.read_text_file({ file_path: `${folder}/${name}` });
  results[name] = content.length;
}
return results;
