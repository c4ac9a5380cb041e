// mistake: line 7, column 36: `Promise.all` is missing around the list
// says: content, Promise
const names = ["notes.md", "sales.csv", "config.json"];
const files = names.map(async (name) => mux.files.read_text_file({ path: `${mux.input.dir}/${name}` }));
let longest = 0;
for (const file of files) {
  longest = Math.max(longest, file.content.length);
}
return { longest };
