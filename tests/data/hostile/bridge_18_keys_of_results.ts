// Keys that mean something to the language are plain data in a result.
// must: result [["__proto__","constructor","toString"],true]
const { value } = await mux.fix.echo_json({ value: JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2, "toString": 3}') });
return [Object.keys(value), Object.getPrototypeOf(value) === Object.prototype && {}.polluted === undefined];
