// Memory outside the heap has its own budget; a program may catch that it is used up.
// must: error memory
// must: result "RangeError"
try {
  const kept: Uint8Array[] = [];
  for (;;) kept.push(new Uint8Array(1 << 20).fill(1));
} catch (error) {
  return error.name;
}
