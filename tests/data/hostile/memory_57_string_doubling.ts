// must: error memory
// must: result "RangeError"
// must on quickjs: result "InternalError"
// must on quickjs: error memory
try {
  let text = "x";
  for (;;) text += text;
} catch (error) {
  return error.name;
}
