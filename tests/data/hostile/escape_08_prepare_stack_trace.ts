// A custom stack trace gets no function and no receiver of the bridge.
// must: result []
const caught: unknown[] = [];
Error.prepareStackTrace = (_, sites) => {
  for (const site of sites) {
    for (const method of ["getThis", "getFunction"]) {
      const value = site[method]?.();
      if (value !== undefined && value !== null && value !== globalThis && String(site.getFileName?.() ?? "").startsWith("ext:")) caught.push(String(value).slice(0, 40));
    }
  }
  return "";
};
try {
  await mux.fix.add({ get a() { throw new Error("in the bridge"); } });
} catch (error) {
  void error.stack;
}
try {
  await mux.fix.nothing({});
} catch (error) {
  void error.stack;
}
setTimeout(() => void new Error("timer").stack, 0);
await new Promise((resolve) => setTimeout(resolve, 1));
Error.prepareStackTrace = undefined;
void new Error("plain").stack;
return caught.map(String);
