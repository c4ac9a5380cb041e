// expand: @OPEN 100000 `${
// expand: @CLOSE 100000 }`
// must: error limit
// says: 500
// says: nest
return @OPEN1@CLOSE;
