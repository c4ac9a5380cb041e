const twice = [1, 2].map(() => mux.fix.echo_json({ value: { list: [{ "the id": 725653563933458433n, next: 725653563933458435n }] } }));
await Promise.all(twice);
