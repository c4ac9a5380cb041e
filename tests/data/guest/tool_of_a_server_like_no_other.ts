return await mux.zzzzzz.echo({ text: "x" });
