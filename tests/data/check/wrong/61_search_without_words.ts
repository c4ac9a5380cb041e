// mistake: line 4, column 26: `mux.search` needs words
// says: string
// Which tools are there?
const found = await mux.search({ query: "files" });
console.log(found.total);
return found.results.map((tool) => tool.path);
