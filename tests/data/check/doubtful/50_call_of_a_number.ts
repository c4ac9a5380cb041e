// mistake: line 8, column 22: `total` is a number
// says: callable
const csv = (await mux.files.read_text_file({ path: `${mux.input.dir}/sales.csv` })).content;
let total = 0;
for (const line of csv.trim().split("\n").slice(1)) {
  total += Number(line.split(",")[3]);
}
console.log("total", total());
return total;
