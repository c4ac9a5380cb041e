// mistake: line 6, column 59: `revision` is a string
// says: number, string
const repo = mux.input.repo;
const changes = [];
for (let back = 0; back < 3; back++) {
  const shown = await mux.git.git_show({ repo_path: repo, revision: back });
  changes.push(shown.split("\n").length);
}
return changes;
