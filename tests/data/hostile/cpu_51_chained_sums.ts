// A chain without brackets nests as deep for a parser.
// expand: @LINK 100000 1+
// must: error limit
// must: error syntax
// must: error runtime
// must: result null
// must: result 100001
let a;
void @LINK1;
return null;
