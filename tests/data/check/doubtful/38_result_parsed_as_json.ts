// mistake: line 3, column 27: the result is an object, and its text is `content`
// says: string, content
const config = JSON.parse(await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` }));
config.limits.requests = 200;
await mux.files.write_file({ path: `${mux.input.dir}/config.json`, content: JSON.stringify(config) });
return config.limits;
