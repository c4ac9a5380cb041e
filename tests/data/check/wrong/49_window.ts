// mistake: line 5, column 14: there is no `window`
// says: window
const { mirrors } = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` })).content);
const primary = new URL(mirrors[0]);
const here = window.location?.hostname ?? "nowhere";
return { primary: primary.hostname, here };
