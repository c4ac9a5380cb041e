// must: error memory
// must: result "RangeError"
try {
  const text = "x".repeat(1 << 24);
  const kept: Uint8Array[] = [];
  for (;;) kept.push(new TextEncoder().encode(text));
} catch (error) {
  return error.name;
}
