const out = {};
const people = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/people.json` })).content);
out.total = people.length;
out.oldest = people.sort((a, b) => b.age - a.age)[0].name;
out.withoutMail = people.filter(p => !p.email).map(p => p.name);
out["average age"] = people.reduce((s, p) => s + p.age, 0) / people.length;
if (out.total > 3) {
  out.large = true;
}
console.log(out.oldest, out.total);
return out;
