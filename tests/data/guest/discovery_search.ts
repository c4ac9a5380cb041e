// The best first, without asking any server; what there is of them is known.
await mux.fix.pid();
const { results, total, next } = await mux.search("returns its text", { server: "fix", limit: 1 });
console.log(results[0].path, "|", results[0].description, "|", results[0].signature.startsWith("fix.echo(args: { text: string })"), total > 1);
const more = await mux.search("returns its text", { server: "fix", limit: 1, cursor: next });
console.log(more.total === total, more.results[0].path !== results[0].path);
const slip = await mux.search("ecoh", { server: "fix" });
console.log(slip.results[0].path, slip.next);
const none = await mux.search("zzzz", { server: "fix" });
console.log(none.results.length, none.total, none.next);
const exact = await mux.search("mux.fix.echo_json");
return [exact.results[0].path, exact.results[0].server, exact.results[0].name];
