// mistake: line 7, column 38: `count` is a constant
// says: count, constant
const count = 0;
const { content } = await mux.files.search_files({ path: mux.input.dir, pattern: "**/*.ts" });
for (const path of content.split("\n")) {
  const file = await mux.files.read_text_file({ path });
  if (file.content.includes("TODO")) count += 1;
}
return count;
