// mistake: line 4, column 36: `pth` is `path`
// says: pth
const { results } = await mux.catalog.tools({ namespace: "files" });
return results.map((tool) => tool.pth);
