const csv = await mux.files.read_text_file({ path: `${mux.input.dir}/sales.csv` });
const totals: Record<string, number> = {};
for (const line of csv.content.trim().split("\n").slice(1)) {
  const [, , product, amount] = line.split(",");
  totals[product!] = (totals[product!] ?? 0) + Number(amount);
}
const ranking = Object.entries(totals)
  .sort(([, a], [, b]) => b - a)
  .map(([product, total], index) => `${index + 1}. ${product}: ${total.toFixed(2)}`);
const shares = Object.fromEntries(Object.entries(totals).map(([k, v]) => [k, Math.round((100 * v) / Object.values(totals).reduce((x, y) => x + y))]));
for (const [product, share] of Object.entries(shares)) console.log(product.padEnd(8), share + "%");
return { ranking, shares };
