// What policy saw is what is called: the path is read once.
// must: error denied
// says: side_effect
let reads = 0;
const path = { toString() { return reads++ === 0 ? "fix.echo" : "fix.side_effect"; } };
try {
  await mux.call(path as never, {});
  return "called with an object";
} catch {
  return await mux.call("fix.side_effect", { file: "/tmp/mux-hostile", line: "x" });
}
