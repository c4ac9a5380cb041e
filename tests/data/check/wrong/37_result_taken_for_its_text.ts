// mistake: line 4, column 18: the result is an object with `content`
// says: split, content
const csv = await mux.files.read_text_file({ path: `${mux.input.dir}/sales.csv` });
const rows = csv.split("\n").slice(1).map((line) => line.split(","));
const total = rows.reduce((sum, row) => sum + Number(row[3] || 0), 0);
return { rows: rows.length, total };
