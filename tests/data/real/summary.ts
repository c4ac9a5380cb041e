// Reads every text file below a directory at once, groups them by extension, and writes the counts
// into a file beside them.
interface Entry { name: string; type: "file" | "directory"; children?: Entry[] }
interface Group { files: number; lines: number; bytes: number; longest: string }

const { root, output } = mux.input as { root: string; output: string };
const tree = await mux.files.directory_tree({ path: root });

const paths: string[] = [];
const collect = (entries: Entry[], folder: string) => {
  for (const { name, type, children = [] } of entries) {
    if (type === "directory") collect(children, `${folder}/${name}`);
    else paths.push(`${folder}/${name}`);
  }
};
collect(JSON.parse(tree.content) as Entry[], root);

const read = async (path: string) => {
  const { content } = await mux.files.read_text_file({ path });
  const lines = content === "" ? 0 : content.replace(/\n$/, "").split("\n").length;
  return { path: path.slice(root.length + 1), lines, bytes: new TextEncoder().encode(content).length };
};
const files = await Promise.all(paths.map(read));
console.log("read", files.length, "files");

const groups: Record<string, Group> = {};
for (const [extension, members] of Object.entries(Object.groupBy(files, ({ path }) => path.split(".").at(-1)!))) {
  const total = (count: (file: (typeof files)[number]) => number) => members!.reduce((sum, file) => sum + count(file), 0);
  groups[extension] = {
    files: members!.length,
    lines: total((file) => file.lines),
    bytes: total((file) => file.bytes),
    longest: members!.toSorted((a, b) => b.lines - a.lines || a.path.localeCompare(b.path))[0]!.path,
  };
}
await mux.files.write_file({ path: output, content: `${JSON.stringify(groups, null, 2)}\n` });
return { files: files.length, extensions: Object.keys(groups).sort() };
