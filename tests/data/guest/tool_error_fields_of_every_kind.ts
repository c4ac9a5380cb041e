const calls: Record<string, () => Promise<unknown>> = {
  tool: () => mux.fix.fail({ message: "no" }),
  protocol: () => mux.fix.refuse({ code: -32001, message: "refused" }),
  arguments: () => mux.fix.add({ a: -1 }),
  server: () => mux.fx.echo({ text: "x" }),
  "tool name": () => mux.fix.ehco({ text: "x" }),
  path: () => mux.call("fix"),
  denied: () => mux.fix.side_effect({ file: "/dev/null", line: "x" }),
  function: () => mux.fix.echo_json({ value: () => 1 }),
};
for (const [what, call] of Object.entries(calls)) {
  const error = await call().then(() => undefined, (error) => error);
  console.log(`${what}: ${error.kind} (${error.recoverable ? "recoverable" : "final"}) at ${error.path}: ${error.message}`);
}
