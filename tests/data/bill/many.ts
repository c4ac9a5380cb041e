const { directory } = mux.input;
const names = (await mux.files.list_directory({ path: directory })).content.match(/node-\d+\.log/g) ?? [];
const texts = await Promise.all(names.map((name) => mux.files.read_text_file({ path: `${directory}/${name}` })));
const errors: Record<string, number> = {};
for (const { content } of texts)
  for (const [, service] of content.matchAll(/ ERROR (\w+)/g)) errors[service] = (errors[service] ?? 0) + 1;
return errors;
