// How many lines and words has each log?
const dir = mux.input.dir;
const names = ["app.log", "db.log"];
const counts = [];
for (const name of names) {
  const file = await mux.files.read_text_file({ path: dir + "/logs/" + name });
  const lines = file.content.trim().split("\n");
  counts.push({ name, lines: lines.length, words: file.content.split(/\s+/).filter(w => w).length });
}
counts.sort((a, b) => b.lines - a.lines);
return counts;
