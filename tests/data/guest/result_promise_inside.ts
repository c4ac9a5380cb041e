return { user: mux.fix.echo({ text: "x" }) };
