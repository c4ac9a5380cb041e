const node: any = { name: "root", children: [] };
node.children.push({ name: "leaf", parent: node });
return node;
