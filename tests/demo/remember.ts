// Builds a small knowledge graph in the memory server from the digest that the first program wrote.
interface Tally { lines: number; errors: number; slowest: number }
const digest = await mux.files.read_text_file({ path: mux.input.digest });
const services: Record<string, Tally> = JSON.parse(digest.content);

await mux.memory.create_entities({
  entities: Object.entries(services).map(([name, tally]) => ({
    name,
    entityType: "service",
    observations: [`${tally.errors} errors in ${tally.lines} lines`, `slowest answer ${tally.slowest} ms`],
  })),
});
const names = Object.keys(services);
await mux.memory.create_relations({
  relations: names.slice(1).map((name) => ({ from: names[0], to: name, relationType: "calls" })),
});
return `${names.length} services remembered`;
