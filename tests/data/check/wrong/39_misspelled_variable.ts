// mistake: line 6, column 17: the variable is `branches`
// says: branchs, branches
const text = await mux.git.git_branch({ repo_path: mux.input.repo, branch_type: "all" });
const branches = text.split("\n").map((line) => line.replace("*", "").trim());
const old = [];
for (const b of branchs) {
  if (/^(fix|feature)\//.test(b)) old.push(b);
}
return old;
