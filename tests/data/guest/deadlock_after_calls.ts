await mux.fix.echo({ text: "x" });
const { promise } = Promise.withResolvers();
await promise;
