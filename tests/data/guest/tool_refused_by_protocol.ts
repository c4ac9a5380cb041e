return await mux.fix.refuse({ code: -32050, message: "not today" });
