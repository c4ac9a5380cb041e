// mistake: line 6, column 36: the arguments are an object, and the names stand below `entityNames`
// says: entityNames
const { entities } = await mux.memory.search_nodes({ query: "old" });
const names = entities.map((e) => e.name);
if (names.length > 0) {
  await mux.memory.delete_entities(names);
}
return names;
