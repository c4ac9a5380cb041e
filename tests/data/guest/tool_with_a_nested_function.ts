return await mux.fix.echo_json({ value: { list: [1, { callback: () => 1 }] } });
