// mistake: line 5, column 15: `git` has no `git_clone`
// says: git_clone
const url = "https://example.com/shop.git";
const target = `${mux.input.dir}/shop`;
await mux.git.git_clone({ url, path: target });
const log = await mux.git.git_log({ repo_path: target, max_count: 5 });
return log.split("\n\n").map((commit) => commit.match(/Message: (.*)/)?.[1]);
