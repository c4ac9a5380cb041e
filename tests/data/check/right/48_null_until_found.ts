const people = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/people.json` })).content);
let oldest = null;
let byTeam = null;
people.forEach((p) => {
  if (!oldest || p.age > oldest.age) oldest = p;
  if (!byTeam) byTeam = {};
  byTeam[p.team] = p.name;
});
let longest = null;
for (const line of (await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md` })).content.split("\n")) {
  if (longest === null || line.length > longest.length) longest = line;
}
let timer;
let answer;
await new Promise((resolve) => { timer = setTimeout(() => { answer = 42; resolve(); }, 1); });
clearTimeout(timer);
return { oldest: oldest.name, teams: Object.keys(byTeam).length, longest: longest.length, answer };
