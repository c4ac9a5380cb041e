const repo = mux.input.repo;
const diff: string = await mux.git.git_diff({ repo_path: repo, target: "HEAD~2", context_lines: 0 });
const stats: { [file: string]: { added: number; removed: number } } = {};
let current = "";
for (const line of diff.split("\n")) {
  const file = line.match(/^diff --git a\/(\S+)/);
  if (file) {
    current = file[1];
    stats[current] = { added: 0, removed: 0 };
  } else if (line.startsWith("+") && !line.startsWith("+++")) stats[current].added++;
  else if (line.startsWith("-") && !line.startsWith("---")) stats[current].removed++;
}
const branches = (await mux.git.git_branch({ repo_path: repo, branch_type: "local" })).split("\n").map((b) => b.replace("*", "").trim()).filter(Boolean);
const total = Object.values(stats).reduce((sum, { added, removed }) => sum + added + removed, 0);
return { files: Object.keys(stats).length, total: total > 0, branches };
