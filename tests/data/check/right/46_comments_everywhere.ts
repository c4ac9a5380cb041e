#!/usr/bin/env -S mux run
/*
 * Sums up the sales. // not a comment of its own
 */
/** @type {Record<string, number>} */
const totals = {}; // by month
/**
 * @param {string} line one line of the file
 * @returns {[string, number]}
 */
function parse(line) {
  const [date, /* region */, /* product */, amount] = line.split(",");
  return [date.slice(0, 7), /* euros */ Number(amount)];
}
// TODO: read more than one file
const { content /* the text */ } = await mux.files.read_text_file({ path: mux.input.dir + "/sales.csv" /* , head: 3 */ });
for (const line of content.trim().split("\n").slice(1)) {
  const [month, amount] = parse(line); // "2026-01"
  totals[month] = (totals[month] ?? 0) + amount;
}
return totals; // done
