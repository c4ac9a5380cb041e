// A small knowledge graph: who works on what, and what that needs.
const people = ["Ada", "Grace", "Linus"];
const projects: Record<string, string[]> = { compiler: ["Grace", "Ada"], kernel: ["Linus"] };

await mux.memory.create_entities({
  entities: [
    ...people.map((name) => ({ name, entityType: "person", observations: [`${name} writes code`] })),
    ...Object.keys(projects).map((name) => ({ name, entityType: "project", observations: [] })),
  ],
});
const { relations } = await mux.memory.create_relations({
  relations: [
    ...Object.entries(projects).flatMap(([to, names]) => names.map((from) => ({ from, to, relationType: "works on" }))),
    { from: "kernel", to: "compiler", relationType: "needs" },
  ],
});
await mux.memory.add_observations({ observations: [{ entityName: "Grace", contents: ["found a moth"] }] });
return relations.length;
