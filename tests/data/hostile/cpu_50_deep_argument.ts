// Said by name, before the daemon sees it.
// must: error limit
// says: deep
// must on quickjs: error memory
let nested: unknown = 0;
for (let i = 0; i < 1e6; i++) nested = [nested];
await mux.fix.echo_json({ value: nested });
