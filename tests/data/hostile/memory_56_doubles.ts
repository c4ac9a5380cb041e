// must: error memory
// must: result "RangeError"
try {
  const kept: number[][] = [];
  for (;;) kept.push(new Array(2 ** 24).fill(1.5));
} catch (error) {
  return error.name;
}
