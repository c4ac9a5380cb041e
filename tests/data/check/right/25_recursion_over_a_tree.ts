const tree = JSON.parse((await mux.files.directory_tree({ path: mux.input.dir })).content);

const count = (nodes) => nodes.reduce((n, node) => n + (node.type === "directory" ? count(node.children) : 1), 0);

function print(nodes, depth = 0) {
  return nodes
    .flatMap((node) => ["  ".repeat(depth) + node.name, ...(node.children ? print(node.children, depth + 1) : [])]);
}

const find = (nodes, test, path = "") => {
  for (const node of nodes) {
    const here = `${path}/${node.name}`;
    if (test(node)) return here;
    const below = node.children && find(node.children, test, here);
    if (below) return below;
  }
};
console.log(print(tree).join("\n"));
return { files: count(tree) >= 8, sum: find(tree, (node) => node.name === "sum.ts"), nothing: find(tree, () => false) ?? null };
