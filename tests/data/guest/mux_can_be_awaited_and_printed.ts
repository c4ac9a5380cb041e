// A proxy that answers to `then` would never resolve, and one that throws cannot be printed.
const same = (await mux) === mux && (await mux.fix) === mux.fix;
return [same, String(mux), `${mux.fix}`, typeof mux.then, typeof mux.fix.then, JSON.stringify(mux.nope)];
