const größe = { "naïve café": 1, "日本": 2, emoji: "🦀".length };
const π = Math.PI;
const people = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/people.json` })).content);
const jürgen = people.find((p) => p.name.startsWith("Jürgen"));
await mux.files.write_file({ path: `${mux.input.dir}/grüße 🦀.txt`, content: `Grüße an ${jürgen.name} — 你好\u{1F44B}` });
const { content: zurück } = await mux.files.read_text_file({ path: `${mux.input.dir}/grüße 🦀.txt` });
const echo = await mux.everything.echo({ message: "𝒳 ≠ x" }); /* 𝒳 */ const after = echo.endsWith("x");
return { letters: [...zurück].length, ascii: jürgen.name.normalize("NFD").replace(/\p{M}/gu, ""), japan: größe["日本"], π: π.toFixed(3), after };
