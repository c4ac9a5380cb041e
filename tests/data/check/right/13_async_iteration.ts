async function* files(paths: string[]) {
  for (const path of paths) {
    const { content } = await mux.files.read_text_file({ path });
    yield { path, content };
  }
}

const listing = await mux.files.search_files({ path: mux.input.dir, pattern: "**/*.log" });
const found = listing.content.split("\n").filter(Boolean).sort();
let errors = 0;
for await (const { path, content } of files(found)) {
  const lines = content.split("\n").filter((line) => line.includes(" ERROR "));
  errors += lines.length;
  console.log(path.split("/").pop(), lines.length);
}
for await (const sum of [1, 2].map((n) => mux.everything.get_sum({ a: n, b: n }))) console.log(sum);
return errors;
