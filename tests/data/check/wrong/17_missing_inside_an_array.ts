// mistake: line 7, column 17: `relationType` is missing
// says: relationType
const graph = await mux.memory.read_graph();
const [first, second] = graph.entities;
if (first && second) {
  await mux.memory.create_relations({
    relations: [{ from: first.name, to: second.name }],
  });
}
return graph.relations.length;
