// mistake: line 4, column 52: the arguments of a tool are one object
// says: string
const root = `${mux.input.dir}`;
const { content } = await mux.files.list_directory(root);
const folders = content.split("\n").filter((line) => line.startsWith("[DIR]"));
return folders.map((line) => line.slice(6));
