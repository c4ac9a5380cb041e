// must: error memory
const kept: unknown[] = [];
for (;;) kept.push({ a: kept.length });
