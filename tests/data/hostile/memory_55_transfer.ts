// must: error memory
// must: result "RangeError"
try {
  let buffer = new ArrayBuffer(1 << 20);
  for (;;) {
    buffer = buffer.transfer(buffer.byteLength * 2);
    new Uint8Array(buffer).fill(1);
  }
} catch (error) {
  return error.name;
}
