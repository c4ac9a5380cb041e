// must: error limit
// says: over the limit of 4194304
await mux.fix.echo({ text: "x".repeat(5 << 20) });
