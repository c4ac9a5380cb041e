return await mux.fix.ehco({ text: "x" });
