// A proxy that never stops having keys is read in the sandbox, under its own deadline.
// args: --timeout 2s
// must: error timeout
// must: error memory
// must: error limit
// must: error runtime
const endless = new Proxy({}, {
  ownKeys: () => { for (;;); },
});
await mux.fix.echo_json({ value: endless });
