const { entities } = await mux.memory.search_nodes({ query: mux.input.service });
const path = entities[0].observations[0].replace("note: ", "");
return (await mux.files.read_text_file({ path })).content.trim();
