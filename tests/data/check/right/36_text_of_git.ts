const log = await mux.git.git_log({ repo_path: mux.input.repo, max_count: 20 });
const commits = log.split("\n\n").filter((block) => block.includes("Commit:")).map((block) => {
  const get = (key) => block.match(new RegExp(`^${key}: (.*)$`, "m"))[1];
  return { hash: get("Commit"), author: get("Author"), message: get("Message") };
});
const perAuthor = {};
for (const { author } of commits) perAuthor[author] = (perAuthor[author] || 0) + 1;
const status = await mux.git.git_status({ repo_path: mux.input.repo });
const [branch] = status.match(/(?<=On branch )\S+/) ?? ["?"];
return { commits: commits.map((c) => c.message), perAuthor, branch, top: Object.entries(perAuthor).sort((a, b) => b[1] - a[1])[0][0] };
