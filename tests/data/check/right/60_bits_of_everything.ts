(async () => { console.log("an async function at once"); })();
var legacy = "var is still JavaScript", undefinedLater;
const config = JSON.parse((await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` })).content);
const urls = config.mirrors.map((m) => new URL(m)).map(({ hostname, port, searchParams }) => ({ hostname, port: port || 443, tier: searchParams.get("tier") }));
const flags = Object.keys(config.features).reduce((bits, key, i) => config.features[key] ? bits | (1 << i) : bits, 0);
const copy = structuredClone(config);
copy.limits.burst ??= 1;
copy.limits.burst ||= 2;
copy.limits.requests &&= copy.limits.requests + 1;
const point = { x: 1, get double() { return this.x * 2; }, set double(v) { this.x = v / 2; }, [`key_${1 + 1}`]: "computed", *[Symbol.iterator]() { yield this.x; yield this.double; } };
point.double = 10;
const bytes = new TextEncoder().encode("mux");
const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const big = 2n ** 64n;
const kind = typeof undefinedLater === "undefined" ? "nothing" : legacy ? "legacy" : "none";
const nested = [[1, [2]], [3, [4]]].flat(Infinity);
if (Object.hasOwn(config, "nothing")) return null;
try { JSON.parse("{") } catch ({ name }) { console.log(name) } finally { console.log("finally") }
return { urls, flags, burst: copy.limits.burst, point: [...point], computed: point.key_2, hex, big: String(big), kind, nested, text: new TextDecoder().decode(bytes) };
