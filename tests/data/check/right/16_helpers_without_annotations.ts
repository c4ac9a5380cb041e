function clamp(value, min, max) {
  return Math.min(Math.max(value, min), max);
}

const pluck = (list, key) => list.map(item => item[key]);

async function readJson(name, fallback = null) {
  try {
    const file = await mux.files.read_text_file({ path: `${mux.input.dir}/${name}` });
    return JSON.parse(file.content);
  } catch {
    return fallback;
  }
}

const sum = (...numbers) => numbers.reduce((a, b) => a + b, 0);
const people = await readJson("people.json", []);
const nothing = await readJson("nothing.json");
const ages = pluck(people, "age");
return { nothing, names: pluck(people, "name"), total: sum(...ages), clamped: ages.map(age => clamp(age, 30, 40)) };
