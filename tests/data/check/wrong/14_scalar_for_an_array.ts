// mistake: line 5, column 59: `paths` is an array
// says: string, string[]
const dir: string = mux.input.dir;
const path = `${dir}/notes.md`;
const { content } = await mux.files.read_multiple_files({ paths: path });
return content.length;
