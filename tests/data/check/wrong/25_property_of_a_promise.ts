// mistake: line 5, column 20: the call is not awaited
// says: content, Promise, await
const path = `${mux.input.dir}/notes.md`;
const file = mux.files.read_text_file({ path });
const lines = file.content.split("\n");
return lines.length;
