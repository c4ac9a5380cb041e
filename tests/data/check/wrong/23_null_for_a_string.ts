// mistake: line 5, column 44: `content` cannot be null
// says: null, string
const marker = `${mux.input.dir}/.done`;
// Creates an empty file.
await mux.files.write_file({ path: marker, content: null });
const info = await mux.files.get_file_info({ path: marker });
return info.content.includes("size: 0");
