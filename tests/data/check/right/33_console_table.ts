const { content } = await mux.files.list_directory_with_sizes({ path: mux.input.dir, sortBy: "size" });
const rows = content.split("\n").filter((l) => l.startsWith("[")).map((l) => {
  const [, kind, name, size] = l.match(/^\[(\w+)\] (\S+)\s*(.*)$/);
  return { kind, name, size };
});
console.group("files");
console.table(rows);
console.table(rows, ["name", "size"]);
console.groupEnd();
console.info("%d rows", rows.length, new Map([["a", 1]]), [undefined, null, NaN]);
console.error("nothing is wrong");
console.assert(rows.length > 0, "no rows");
console.time("t");
console.timeEnd("t");
console.count();
console.dir({ nested: { deep: { deeper: true } } }, { depth: 1 });
return rows.length > 3;
