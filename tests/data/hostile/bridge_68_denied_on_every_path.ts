// Policy is asked on every way to a tool.
// must: result ["denied","denied","denied","denied","denied"]
const args = { file: "/tmp/mux-hostile", line: "x" };
const ways = [
  () => mux.fix.side_effect(args),
  () => mux["fix"]["side_effect"](args),
  () => mux["fix.side_effect"](args),
  () => mux.call("fix.side_effect", args),
  () => mux.call.raw("fix.side_effect", args),
];
const kinds: string[] = [];
for (const way of ways) {
  try {
    await way();
    kinds.push("called");
  } catch (error) {
    kinds.push(error.kind);
  }
}
return kinds;
