// input: {"name": "world", "list": [1, {"two": null}]}
console.log(typeof mux.input, mux.input.list);
return `hello ${mux.input.name}`;
