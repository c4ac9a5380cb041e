// Another run, the same warm session: what does the memory server know of the worst service, and
// when was this repository last changed?
const found = await mux.memory.search_nodes({ query: mux.input.service });
const log = await mux.git.git_log({ repo_path: mux.input.repository, max_count: 1 });
return {
  known: found.entities[0].observations,
  calls: found.relations.length,
  lastCommit: String(log).split("\n").find((line) => line.startsWith("Date"))?.trim(),
};
