// A chain without brackets nests as deep for a parser.
// expand: @LINK 100000 a=>
// must: error limit
// must: error syntax
// must: error runtime
// must: result null
let a;
void (@LINK1);
return null;
