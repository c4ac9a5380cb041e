const any = mux as any;
const tries: [string, () => Promise<unknown>][] = [
  ["search without words", () => any.search()],
  ["search with options that are none", () => any.search("x", 3)],
  ["search with an unknown option", () => any.search("x", { most: 3 })],
  ["search with half a limit", () => any.search("x", { limit: 0.5 })],
  ["search in an unknown server", () => any.search("x", { server: "fxi" })],
  ["search with a cursor that is none", () => any.search("x", { cursor: "7" })],
  ["search with too many words", () => any.search("word ".repeat(1000))],
  ["describe nothing", () => any.describe()],
  ["describe numbers", () => any.describe(["fix.add", 7])],
  ["describe too much", () => any.describe(Array.from({ length: 101 }, () => "fix.add"))],
  ["discover without a query", () => any.discover({ limit: 1 })],
  ["discover a text", () => any.discover("x")],
  ["namespaces with an option", () => any.catalog.namespaces({ all: true })],
  ["tools of a number", () => any.catalog.tools({ namespace: 1 })],
];
for (const [what, go] of tries) {
  try {
    console.log(what, "gives", await go());
  } catch (error: any) {
    console.log(`${what}: ${error.name} ${error.kind} ${error.path}: ${error.message}\n${error.hint}`);
  }
}
try {
  any.catalog.tools = 1;
} catch (error: any) {
  console.log(error.name);
}
return any.search("x", { limit: -1 });
