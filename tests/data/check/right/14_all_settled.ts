const outcomes = await Promise.allSettled(
  ["notes.md", "nowhere.md", "config.json"].map((name) => mux.files.read_text_file({ path: `${mux.input.dir}/${name}`, head: 1 })),
);
const good = outcomes.filter((o) => o.status === "fulfilled").map((o) => o.value.content.trim());
const bad = outcomes.filter(o => o.status === "rejected").map(o => o.reason.kind);
const texts = [];
for (const outcome of outcomes) {
  if (outcome.status === "fulfilled") texts.push(outcome.value.content.length);
  else texts.push(outcome.reason.message.length > 0 ? -1 : 0);
}
return { good, bad, positive: texts.filter((n) => n > 0).length };
