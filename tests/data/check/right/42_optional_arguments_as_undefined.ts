const { head, tail, exclude } = mux.input;
const all = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md`, head, tail: undefined });
const some = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md`, head: head ?? undefined, ...(tail ? { tail } : {}) });
const tree = await mux.files.directory_tree({ path: mux.input.dir, excludePatterns: exclude ? [exclude] : undefined });
const log = await mux.git.git_log({ repo_path: mux.input.repo, max_count: 1, start_timestamp: null });
let links = await mux.everything.get_resource_links(undefined);
links = await mux.everything.get_resource_links({ count: undefined });
return { same: all.content === some.content, tree: JSON.parse(tree.content).length > 0, log: log.length > 0, links: links.length };
