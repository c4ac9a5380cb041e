// must: error memory
const kept: unknown[] = [];
for (;;) kept.push(Promise.resolve(kept.length).then((n) => new Array(10).fill(n)));
