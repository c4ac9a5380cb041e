// A message of 100 MB is cut, or there is no room for it.
// must: error runtime
// must: error memory
Error.stackTraceLimit = Infinity;
const deep = (n: number): never => {
  if (n > 0) deep(n - 1);
  throw new Error("m".repeat(100_000_000));
};
deep(1000);
