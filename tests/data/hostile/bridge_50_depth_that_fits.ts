// Data of the greatest depth goes there and back.
// must: result 98
let nested: unknown = 0;
for (let i = 0; i < 98; i++) nested = [nested];
let { value } = await mux.fix.echo_json({ value: nested });
let depth = 0;
for (; Array.isArray(value); value = value[0]) depth++;
return depth;
