const make = (async () => {}).constructor as any;
return await make("return 1")();
