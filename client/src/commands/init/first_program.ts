// Asks all servers for their tools, and returns what the first one answers. No tool is called.
const { namespaces } = await mux.catalog.namespaces();
if (namespaces.length === 0) return null;
return await Promise.any(
  namespaces.map(async ({ name }) => {
    const { missing } = await mux.describe(name).catch((error) => {
      // The server has answered, with more tools than can be described at once.
      if (error.kind === "limit") return { missing: [] };
      throw error;
    });
    if (missing.length > 0) throw new Error(missing[0].message);
    const { results, total } = await mux.catalog.tools({ namespace: name, limit: 3 });
    return { server: name, tools: total, paths: results.map((tool) => tool.path) };
  }),
).catch(({ errors }) => {
  throw new Error(errors.map((error) => error.message).join("; "));
});
