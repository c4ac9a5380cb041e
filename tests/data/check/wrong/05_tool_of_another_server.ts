// mistake: line 6, column 32: `read_text_file` belongs to `files`
// says: read_text_file, Memory
await mux.memory.create_entities({
  entities: [{ name: "release", entityType: "event", observations: ["planned"] }],
});
const notes = await mux.memory.read_text_file({ path: `${mux.input.dir}/notes.md` });
await mux.memory.add_observations({
  observations: [{ entityName: "release", contents: [notes.content] }],
});
