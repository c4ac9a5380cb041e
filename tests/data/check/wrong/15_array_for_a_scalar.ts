// mistake: line 4, column 54: `path` is one string
// says: string[], string
const files = ["config.json", "people.json"].map((name) => `${mux.input.dir}/${name}`);
const { content } = await mux.files.read_text_file({ path: files });
return Object.keys(JSON.parse(content));
