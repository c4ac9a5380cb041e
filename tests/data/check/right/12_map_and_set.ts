const logs = await Promise.all(
  ["app", "db"].map(async (name) => (await mux.files.read_text_file({ path: `${mux.input.dir}/logs/${name}.log` })).content),
);
const levels = new Map();
const components = new Set();
for (const line of logs.join("").split("\n")) {
  const match = line.match(/^\S+ (\w+) \[(\w+)\]/);
  if (!match) continue;
  const [, level, component] = match;
  levels.set(level, (levels.get(level) || 0) + 1);
  components.add(component);
}
const index = new Map<string, string[]>();
for (const component of components) {
  const list = index.get(component) ?? [];
  list.push(...logs.filter((log) => log.includes(`[${component}]`)).map((_, i) => `log ${i}`));
  index.set(component, list);
}
return { levels: Object.fromEntries(levels), components: [...components].sort(), busiest: [...levels].sort((a, b) => b[1] - a[1])[0][0], index: index.size };
