// mistake: line 6, column 12: the property is `length`
// says: lenght, length
const words = new Map<string, number>();
const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md` });
for (const word of content.toLowerCase().match(/\w+/g) ?? []) {
  if (word.lenght > 3) words.set(word, (words.get(word) ?? 0) + 1);
}
return [...words].sort((a, b) => b[1] - a[1]).slice(0, 5);
