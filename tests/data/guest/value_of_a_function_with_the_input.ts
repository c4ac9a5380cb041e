// input: {"name": "Ada"}
(async ({ mux, input }: { mux: any; input: any }) => {
  return { name: input.name, has_tools: "fix" in mux };
});
