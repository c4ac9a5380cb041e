const { tools, missing } = await mux.describe("fix.add", "fix.ecoh", "nowhere.x", "fix.get_thing");
for (const tool of tools) console.log(tool.path, "|", tool.name, "|", tool.description);
console.log(tools[0].signature);
console.log(tools[0].declaration);
for (const { path, message, hint } of missing) console.log(path, "|", message, "|", hint);
const all = await mux.describe(["fix"]);
return [all.tools.length > 10, all.missing, (await mux.describe(["fix.add"])).tools[0].path];
