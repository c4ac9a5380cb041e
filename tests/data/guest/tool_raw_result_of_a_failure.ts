return await mux.call.raw("fix.fail", { message: "isError and no throw" });
