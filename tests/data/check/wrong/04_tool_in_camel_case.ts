// mistake: line 5, column 33: the tool is `read_text_file`
// says: readTextFile
const names = ["app.log", "db.log"];
const texts = await Promise.all(
  names.map((name) => mux.files.readTextFile({ path: `${mux.input.dir}/logs/${name}` })),
);
return texts.map((t) => t.content.length);
