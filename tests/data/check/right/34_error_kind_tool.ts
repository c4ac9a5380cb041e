const problems = [];
try {
  await mux.files.read_text_file({ path: "/etc/hostname" });
} catch (e) {
  if (e.kind === "tool") problems.push(e.path);
  else throw e;
}
try {
  await mux.git.git_show({ repo_path: mux.input.repo, revision: "no-such-revision" });
} catch (error) {
  if (error instanceof Error && "kind" in error) problems.push(error.kind);
}
const message = await mux.git.git_log({ repo_path: "/nowhere" }).then(() => "", (e) => e.message);
return { problems, failed: message.includes("nowhere") };
