return await mux.fxi.echo({ text: "x" });
