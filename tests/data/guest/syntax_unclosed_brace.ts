const rows = [1, 2, 3];
for (const row of rows) {
  console.log(row);
return rows;
