const csv = (await mux.files.read_text_file({ path: `${mux.input.dir}/sales.csv` })).content;
const [header, ...lines] = csv.trim().split("\n");
const columns = header.split(",");
const rows = lines.map(line => {
  const cells = line.split(",");
  return columns.reduce((row, column, i) => ({ ...row, [column]: cells[i] }), {});
});
const byRegion = rows.reduce((acc, row) => {
  acc[row.region] = (acc[row.region] || 0) + Number(row.amount);
  return acc;
}, {});
const byProduct = rows.reduce((acc, row) => {
  if (!acc[row.product]) acc[row.product] = { count: 0, amounts: [] };
  acc[row.product].count++;
  acc[row.product].amounts.push(parseFloat(row.amount));
  return acc;
}, {});
return { north: byRegion.north, byRegion, lamps: byProduct.lamp.count, products: Object.keys(byProduct) };
