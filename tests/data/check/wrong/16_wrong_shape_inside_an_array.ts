// mistake: line 9, column 25: `entityType` is missing; it is not `type`
// says: type
const people = ["Ada", "Grace"];
await mux.memory.create_entities({
  entities: people.map((name) => ({ name, entityType: "person", observations: [] })),
});
await mux.memory.create_entities({
  entities: [
    { name: "compiler", type: "project", observations: ["written in 1952"] },
  ],
});
return (await mux.memory.read_graph()).entities.length;
