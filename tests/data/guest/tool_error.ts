const fine = await mux.fix.echo({ text: "fine" });
await mux.fix.fail({ message: `not ${fine}` });
