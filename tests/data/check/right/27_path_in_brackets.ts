const sum = await mux["everything.get-sum"]({ a: 1, b: 2 });
const structured = await mux["everything"]["get-structured-content"]({ location: "Chicago" });
const same = await mux.everything["get-sum"]({ a: 1, b: 2 });
const { content } = await mux["files.read_text_file"]({ path: `${mux.input.dir}/notes.md`, head: 1 });
return { sum, same: sum === same, keys: Object.keys(structured).sort(), content };
