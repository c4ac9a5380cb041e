// mistake: line 4, column 31: the server is `files`, not `Files`
// says: Files, files
const path = `${mux.input.dir}/notes.md`;
const { content } = await mux.Files.read_text_file({ path });
const todo = content.split("\n").filter((line) => line.includes("TODO"));
console.log(todo.length);
return todo;
