const rows = [];
return row.length;
