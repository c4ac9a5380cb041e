// mistake: line 6, column 26: programs have no network
// says: fetch
const config = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` })).content);
const states = [];
for (const mirror of config.mirrors) {
  const response = await fetch(mirror, { method: "HEAD" });
  states.push({ mirror, ok: response.ok });
}
return states;
