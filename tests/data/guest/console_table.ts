console.table([{ id: 1, name: "one" }, { id: 20, extra: true }]);
console.table({ a: [1, 2], b: { c: 3 } });
console.table([1, "two"]);
console.table("not tabular");
