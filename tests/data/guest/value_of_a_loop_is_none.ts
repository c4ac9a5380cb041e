const found: number[] = [];
for (const n of [1, 2]) found.push(n);
