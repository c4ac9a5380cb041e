// expand: @X 1100000 x
// must: error limit
// says: over the limit of 1048576
return "@X";
