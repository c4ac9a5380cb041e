const prefix = "check-54-";
const depends = { app: ["api", "ui"], api: ["db"], ui: [], db: [] };
const names = Object.keys(depends);
await mux.memory.create_entities({
  entities: names.map((n) => ({ name: prefix + n, entityType: "module", observations: [`${n} exists`] })),
});
await mux.memory.create_relations({
  relations: names.flatMap((from) => depends[from].map((to) => ({ from: prefix + from, to: prefix + to, relationType: "needs" }))),
});
await mux.memory.add_observations({ observations: [{ entityName: prefix + "db", contents: ["is slow"] }] });
const { entities, relations } = await mux.memory.open_nodes({ names: names.map((n) => prefix + n) });
const needed = (name, seen = new Set()) => {
  for (const r of relations.filter((r) => r.from === name)) {
    if (!seen.has(r.to)) needed(r.to, seen.add(r.to));
  }
  return seen;
};
const slow = entities.filter((e) => e.observations.some((o) => /slow/.test(o))).map((e) => e.name.replace(prefix, ""));
const all = [...needed(prefix + "app")].map((n) => n.slice(prefix.length)).sort();
await mux.memory.delete_entities({ entityNames: entities.map((e) => e.name) });
return { slow, all };
