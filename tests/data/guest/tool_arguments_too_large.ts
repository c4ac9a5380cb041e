await mux.fix.echo({ text: "x".repeat(5 * 1024 * 1024) });
