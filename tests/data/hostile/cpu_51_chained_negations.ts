// A chain without brackets nests as deep for a parser.
// expand: @LINK 100000 !
// must: error limit
// must: error syntax
// must: error runtime
// must: result null
// must: result true
let a;
void @LINK1;
return null;
