// Arguments are read once: one walk over the keys, one read of each.
// must: result {"reads":1,"value":{"a":1}}
let reads = 0;
const once = new Proxy({ a: 1 }, {
  get(target, key) {
    if (key === "a") reads++;
    return target[key];
  },
});
const { value } = await mux.fix.echo_json({ value: once });
return { reads, value };
