// must: result "\ufffd"
return "\ud800";
