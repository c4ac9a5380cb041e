return await mux.my-server.echo({ text: "a" });
