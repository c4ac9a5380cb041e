console.log("before");
await mux.read({} as any);
