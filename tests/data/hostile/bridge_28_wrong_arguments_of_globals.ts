// Odd values for everything that reaches the host: errors or values, and no end of the process.
// must: result "alive"
const odd = [-1, NaN, 2 ** 53, -0, 1e308, "\ud800", "\udfff\ud800", null, undefined, Symbol("s"), 10n, {}, [], () => {}, new Proxy({}, {})];
const detached = new ArrayBuffer(8);
structuredClone(detached);
detached.transfer?.();
const attempts = [
  (v) => setTimeout(() => {}, v),
  (v) => clearTimeout(v),
  (v) => clearInterval(v),
  (v) => atob(v),
  (v) => btoa(v),
  (v) => new URL(v),
  (v) => new URL("http://a/b", v),
  (v) => { const u = new URL("http://a/b?c#d"); u.port = v; u.host = v; u.href = v; },
  (v) => new URLSearchParams(v),
  (v) => new TextEncoder().encode(v),
  (v) => new TextDecoder().decode(v),
  (v) => new TextDecoder(v),
  (v) => structuredClone(v),
  (v) => crypto.getRandomValues(v),
  (v) => performance.now(v),
  (v) => console.log(v, v),
  (v) => console.table(v),
  (v) => console.group(v),
  (v) => mux[v],
  (v) => mux.fix[v],
];
for (const attempt of attempts) {
  for (const value of [...odd, detached]) {
    try {
      attempt(value);
    } catch (error) {
      if (!(error instanceof Error)) return "threw " + typeof error;
    }
  }
}
const calls = odd.map((value) => mux.call(value as never, value as never).then(() => 0, (error) => error instanceof Error));
await Promise.all(calls);
return "alive";
