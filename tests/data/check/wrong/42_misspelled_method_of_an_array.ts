// mistake: line 6, column 7: the method is `forEach`
// says: foreach, forEach
const { content } = await mux.files.list_directory({ path: mux.input.dir });
const sizes: Record<string, number> = {};
const names = content.split("\n").map((line) => line.slice(7));
names.foreach((name) => {
  sizes[name] = name.length;
});
return sizes;
