// must: error memory
const kept = new Map();
for (let i = 0; ; i++) kept.set(i, () => i);
