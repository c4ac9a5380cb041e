const text = (await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` })).content;
const config = JSON.parse(text);
const users = config?.features?.beta?.users ?? [];
const region = config.region?.default ?? "eu";
const first = users?.[0]?.toUpperCase?.();
const graph = await mux.memory.search_nodes({ query: "check-08-nothing-has-this-name" });
const observation = graph.entities[0]?.observations?.[0]?.length ?? 0;
const title = text.match(/"title": "(.*)"/)?.[1] || "untitled";
return { users: users.length, region, first, observation, title };
