// mistake: line 4, column 22: the graph is an object with `entities` and `relations`
// says: filter, entities
const graph = await mux.memory.read_graph();
const people = graph.filter((entity) => entity.entityType === "person");
return people.map((person) => person.name).sort();
