// A chain without brackets nests as deep for a parser.
// expand: @LINK 100000 if(1)
// must: error limit
// must: error syntax
// must: error runtime
// must: result null
let a;
@LINK;;
return null;
