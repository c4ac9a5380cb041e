const steps = [
  ["everything.echo", { message: "first" }],
  ["everything.get-sum", { a: 20, b: 22 }],
  ["time.get_current_time", { timezone: "UTC" }],
  ["files.list_allowed_directories"],
];
const results = {};
for (const [path, args] of steps) {
  results[path] = await mux.call(path, args);
}
const missing = await mux.call("files.no_such_tool", {}).catch((e) => e.kind);
return { echo: results["everything.echo"], sum: results["everything.get-sum"], zone: results["time.get_current_time"].timezone, missing };
