const { content } = await mux.files.read_text_file({ path: mux.input.path });
const errors: Record<string, number> = {};
for (const [, service] of content.matchAll(/ ERROR (\w+)/g)) errors[service] = (errors[service] ?? 0) + 1;
return errors;
