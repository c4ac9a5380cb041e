// Who did what in a repository, from the text that git's server gives.
const { repo } = mux.input as { repo: string };
const [log, status] = await Promise.all([
  mux.git.git_log({ repo_path: repo, max_count: 50 }) as Promise<string>,
  mux.git.git_status({ repo_path: repo }) as Promise<string>,
]);
const commits = [...log.matchAll(/^Commit: '?(\w+)'?\nAuthor: (.+)\nDate: (.+)\nMessage: (.+)$/gm)].map(
  ([, hash, author, date, message]) => ({ hash: hash!, author: author!, day: date!.slice(0, 10), message: message! }),
);
const authors: Record<string, number> = {};
for (const { author } of commits) authors[author] = (authors[author] ?? 0) + 1;

// The files of each fix, read one commit each but all at once.
const fixes = commits.filter(({ message }) => message.startsWith("fix:"));
const touched = await Promise.all(
  fixes.map(async ({ hash }) => {
    const shown = (await mux.git.git_show({ repo_path: repo, revision: hash })) as string;
    return [...shown.matchAll(/^\+\+\+ b?\/?(\S+)/gm)].map(([, file]) => file!);
  }),
);
return {
  commits: commits.length,
  authors,
  newest: commits[0]!.message,
  days: [...new Set(commits.map(({ day }) => day))].sort(),
  fixed: touched.flat().sort(),
  clean: status.includes("nothing to commit"),
};
