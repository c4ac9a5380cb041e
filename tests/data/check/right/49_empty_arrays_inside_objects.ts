const state = { todo: [], done: [], errors: {}, last: null, count: 0 };
const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/notes.md` });
for (const line of content.split("\n")) {
  if (line.startsWith("- [x]")) state.done.push(line.slice(6));
  if (line.startsWith("- [ ]")) state.todo.push({ text: line.slice(6), owner: line.match(/\((\w+)\)/)?.[1] });
  state.last = line;
  state.count++;
}
state.errors["none"] = true;
const groups = { even: [], odd: [] };
[1, 2, 3, 4].forEach((n) => groups[n % 2 ? "odd" : "even"].push(n));
const squares = [1, 2, 3].reduce((all, n) => [...all, n * n], []);
const pairs = [1, 2, 3].reduce((all, n) => { all.push([n, n + 1]); return all; }, []);
return { owner: state.todo[1].owner, done: state.done.length, odd: groups.odd, squares, pairs: pairs.length };
