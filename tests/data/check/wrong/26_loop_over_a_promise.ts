// mistake: line 9, column 20: `load()` is not awaited
// says: Promise
async function load() {
  const { entities } = await mux.memory.read_graph();
  return entities.map((entity) => entity.name);
}

const seen = new Set();
for (const name of load()) {
  seen.add(name.toLowerCase());
}
return [...seen];
