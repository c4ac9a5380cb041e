// An argument over the limit is refused before it leaves the isolate.
// must: error limit
// must: error memory
// must: error runtime
const big = "x".repeat(2 ** 28);
await mux.fix.echo_json({ value: { toJSON: () => [big, big, big, big] } });
