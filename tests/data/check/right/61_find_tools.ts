// Nobody said which tools there are, so look for them.
const found = await mux.search("read a file", { server: "files", limit: 3 });
const best = found.results[0];
const { tools, missing } = await mux.describe(best.path, "git.git_log");
console.log(tools.map((tool) => tool.declaration).join("\n"), missing.length, found.next?.length);
const { bestPath, results } = await mux.discover({ query: "current time", limit: 5, compact: true });
if (bestPath === null) throw new Error("no clock");
const now = await mux.call(bestPath, { timezone: "UTC" });
const { namespaces } = await mux.catalog.namespaces({});
const known = namespaces.filter((space) => (space.tools ?? 0) > 0).map((space) => space.name);
const paths: string[] = [];
let cursor: string | undefined;
do {
  const page = await mux.catalog.tools({ namespace: "memory", limit: 4, cursor });
  paths.push(...page.results.map((tool) => tool.path));
  cursor = page.next ?? undefined;
} while (cursor);
const all = await mux.describe(paths);
return { now, known, paths, described: all.tools.length, shown: results.length };
