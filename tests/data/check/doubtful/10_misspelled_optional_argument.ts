// mistake: line 5, column 3: the argument is `excludePatterns`
// says: excludePattern, excludePatterns
const tree = await mux.files.directory_tree({
  path: mux.input.dir,
  excludePattern: ["node_modules", "*.log"],
});
const nodes = JSON.parse(tree.content);
return nodes.map((node) => node.name);
