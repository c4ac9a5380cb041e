const total = 3;
total // the total
// That is all.
/* Done. */
