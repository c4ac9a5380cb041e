// mistake: line 6, column 28: `content` is missing
// says: content
const people = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/people.json` })).content);
const names = people.map((p) => p.name).join("\n");
console.log(names);
await mux.files.write_file({ path: `${mux.input.dir}/names.txt` });
return names.length;
