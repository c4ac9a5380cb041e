const r: any = await mux.fix.add({ a: 1, b: 2 });
return r.content[0].text;
