const source = { date: new Date(0), map: new Map([["k", [1n]]]), set: new Set([1]), bytes: new Uint8Array([1, 2]), list: [, 1] } as any;
source.self = source;
const copy = structuredClone(source);
const refused = [];
for (const value of [() => 1, { deep: Symbol("s") }]) {
  try { structuredClone(value); } catch (error) { refused.push(error.message); }
}
return {
  different: copy !== source && copy.map !== source.map,
  date: copy.date.getTime() === 0,
  map: copy.map.get("k")[0] === 1n,
  self: copy.self === copy,
  bytes: [...copy.bytes],
  refused,
};
