// What another run finds in the graph that graph_build.ts left.
const { entities, relations } = await mux.memory.read_graph();
const workers = (project: string) =>
  relations.filter((r) => r.to === project && r.relationType === "works on").map((r) => r.from).sort();
// Whose work does a project need, over any number of steps?
const needed = (project: string, seen: string[] = []): string[] =>
  relations
    .filter((r) => r.from === project && r.relationType === "needs" && !seen.includes(r.to))
    .flatMap((r) => [...workers(r.to), ...needed(r.to, [...seen, r.to])]);
const [found, opened] = await Promise.all([
  mux.memory.search_nodes({ query: "moth" }),
  mux.memory.open_nodes({ names: ["kernel"] }),
]);
return {
  people: entities.filter((e) => e.entityType === "person").map((e) => e.name).sort(),
  compiler: workers("compiler"),
  kernelNeeds: needed("kernel"),
  whoFoundAMoth: found.entities.map((e) => e.name),
  opened: opened.entities.map((e) => `${e.name} is a ${e.entityType}`),
};
