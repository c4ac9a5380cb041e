async function pool(items, limit, work) {
  const results = new Array(items.length);
  let next = 0;
  const workers = Array.from({ length: Math.min(limit, items.length) }, async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index], index);
    }
  });
  await Promise.all(workers);
  return results;
}

const numbers = Array.from({ length: 12 }, (_, i) => i);
const started = performance.now();
const texts = await pool(numbers, 4, (n) => mux.everything.get_sum({ a: n, b: n }));
const sums = texts.map((t) => Number(t.match(/is (-?\d+)\./)[1]));
const [evens, odds] = [0, 2].map((rest) => sums.filter((s) => s % 4 === rest));
console.log(`${sums.length} sums`, performance.now() >= started);
return { sums, evens: evens.length, odds: odds.length, unique: new Set(sums).size, id: crypto.randomUUID().length };
