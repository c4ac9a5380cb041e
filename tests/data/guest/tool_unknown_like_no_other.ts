return await mux.fix.zzzzzz({ text: "x" });
