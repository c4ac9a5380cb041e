// must: error memory
// must: result "RangeError"
// must on quickjs: result "InternalError"
try {
  return new Uint8Array(2 ** 30).fill(1).length;
} catch (error) {
  return error.name;
}
