const people = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/people.json` })).content);
const veterans = people.sort((a, b) => new Date(a.joined) - new Date(b.joined)).map((p) => p.name);
const start = new Date("2026-01-01");
const end = new Date("2026-03-01");
const days = (end - start) / 86400000;
const weeks = parseInt(days / 7);
const valid = !isNaN("12") && !isNaN(new Date(people[0].joined));
return { first: veterans[0], days, weeks, valid, later: end > start };
