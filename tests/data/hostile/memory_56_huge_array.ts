// must: error memory
// must: result "RangeError"
// must: error timeout
// args: --timeout 5s
try {
  return new Array(2 ** 32 - 1).fill(0).length;
} catch (error) {
  return error.name;
}
