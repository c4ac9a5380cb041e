// The first program of `mux init`: lists tools of a server, and calls none.
const { results, total } = await mux.catalog.tools({ namespace: mux.input, limit: 3 });
return { server: mux.input, tools: total, paths: results.map((tool) => tool.path) };
