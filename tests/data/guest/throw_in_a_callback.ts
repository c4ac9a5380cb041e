const rows = [{ id: 1 }, { id: 2 }, null];
return rows.map((row) =>
  row!.id
);
