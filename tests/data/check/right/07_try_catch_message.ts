const results = [];
for (const name of ["config.json", "missing.json", "notes.md"]) {
  try {
    const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/${name}` });
    results.push({ name, parsed: typeof JSON.parse(content) });
  } catch (e) {
    results.push({ name, error: e.message.slice(0, 40), isSyntax: e instanceof SyntaxError });
  }
}
return results;
