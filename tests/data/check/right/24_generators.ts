function* chunks<T>(items: T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

function* ids() {
  let id = 0;
  while (true) {
    const reset = yield id++;
    if (reset) id = 0;
  }
}

const next = ids();
const entities = ["a", "b", "c", "d", "e"].map((letter) => ({
  name: `check-24-${letter}`, entityType: "letter", observations: [`number ${next.next().value}`],
}));
let batches = 0;
for (const batch of chunks(entities, 2)) {
  await mux.memory.create_entities({ entities: batch });
  batches++;
}
const { entities: saved } = await mux.memory.search_nodes({ query: "check-24-" });
await mux.memory.delete_entities({ entityNames: entities.map((e) => e.name) });
const [x, y] = ids();
return { batches, saved: saved.map((e) => e.observations[0]).sort(), x, y, after: next.next(true).value };
