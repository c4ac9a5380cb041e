// The entity surely exists: it was created two lines above.
await mux.memory.create_entities({
  entities: [
    { name: "check-04-lamp", entityType: "product", observations: ["bright", "cheap"] },
    { name: "check-04-desk", entityType: "product", observations: ["heavy"] },
  ],
});
const graph = await mux.memory.open_nodes({ names: ["check-04-lamp", "check-04-desk"] });
const lamp = graph.entities.find(e => e.name === "check-04-lamp");
console.log(lamp.observations.join(", "));
const heavy = graph.entities.find((e) => e.observations.includes("heavy")).name;
await mux.memory.delete_entities({ entityNames: [lamp.name, heavy] });
return { observations: lamp.observations.length, heavy, last: graph.entities.at(-1).entityType };
