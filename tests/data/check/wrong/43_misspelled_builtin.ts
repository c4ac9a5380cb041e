// mistake: line 8, column 82: the function is `JSON.stringify`
// says: stringfy, stringify
const graph = await mux.memory.search_nodes({ query: "project" });
const backup = {
  taken: new Date().toISOString(),
  entities: graph.entities,
};
await mux.files.write_file({ path: `${mux.input.dir}/backup.json`, content: JSON.stringfy(backup, null, 2) });
return backup.entities.length;
