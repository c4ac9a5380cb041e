```ts
// Models like to answer with a fence around the program.
const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md` });
const open = content.split("\n").filter((line: string) => line.startsWith("- [ ]"));
return open.map((line: string) => line.slice(6));
```
