const slow = mux.fix.hang().catch((error) => error.kind);
return await Promise.race([slow, mux.fix.echo({ text: "quick" })]);
