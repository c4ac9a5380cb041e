const of: any[] = [undefined, null, 3, "", [], {}, { handle: 3 }, { handle: "" }];
const ranges: any[] = [null, 3, "0-9", [], { offset: -1 }, { offset: 0.5 }, { offset: "0" }, { offset: 2 ** 53 }, { length: 0 }, { length: null }];
const show = (error) => console.log(error.name, error.kind, error.path, error.message, "|", error.hint);
for (const handle of of) await mux.read(handle).catch(show);
for (const range of ranges) await mux.read("h", range).catch(show);
return { name: mux.read.name, frozen: Object.isFrozen(mux.read), same: mux.read === mux.read };
