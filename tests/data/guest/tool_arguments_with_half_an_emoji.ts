return await mux.fix.echo({ text: "😀".slice(0, 1) + "!" });
