// Types nest too.
// expand: @OPEN 100000 A<
// expand: @CLOSE 100000 >
// must: error limit
// must: error syntax
type X = @OPEN string @CLOSE;
return 1;
