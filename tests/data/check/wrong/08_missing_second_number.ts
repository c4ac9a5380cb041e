// mistake: line 6, column 45: `b` is missing
// says: 'b'
const numbers = [3, 5, 8];
let total = 0;
for (const a of numbers) {
  const text = await mux.everything.get_sum({ a });
  total += Number(text.match(/is (\d+)/)?.[1] ?? 0);
}
return total;
