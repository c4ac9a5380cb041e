const base = { path: `${mux.input.dir}/logs/app.log` };
const options = {};
const lines = mux.input.lines ?? 2;
if (lines > 0) options.tail = lines;
const { content } = await mux.files.read_text_file({ ...base, ...options });
const args = { repo_path: mux.input.repo };
if (lines === 2) {
  args.max_count = lines;
}
const log = await mux.git.git_log(args);
const list: { name: string; entityType: string; observations: string[] }[] = [];
list.push({ name: "check-41", entityType: "step", ...{ observations: ["built"] } });
const { entities } = await mux.memory.create_entities({ entities: [...list] });
await mux.memory.delete_entities({ entityNames: ["check-41"] });
return { lines: content.trim().split("\n").length, commits: log.match(/Commit: /g).length, created: entities.length <= 1 };
