// Arguments and results are refused for the same reasons.
const values: Record<string, unknown> = {
  function: () => 1,
  tool: mux.fix.echo,
  symbol: Symbol("s"),
  bigint: 10n,
  map: new Map([[1, 2]]),
  set: new Set([1]),
  "weak map": new WeakMap(),
  promise: Promise.resolve(1),
  buffer: new ArrayBuffer(2),
  view: new DataView(new ArrayBuffer(2)),
  "big typed array": new BigInt64Array([1n]),
  regexp: /x/g,
  iterator: [1].values(),
  generator: (function* () {})(),
};
for (const [what, value] of Object.entries(values)) {
  const error = await mux.fix.echo_json({ value }).catch((error) => error);
  console.log(`${what}: ${error.message}; ${error.hint}`);
}
