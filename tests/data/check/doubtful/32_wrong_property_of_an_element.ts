// mistake: line 6, column 20: an entity has `entityType`, no `type`
// says: 'type'
const { entities } = await mux.memory.read_graph();
const kinds = new Map<string, number>();
for (const entity of entities) {
  kinds.set(entity.type, (kinds.get(entity.entityType) ?? 0) + 1);
}
return Object.fromEntries(kinds);
