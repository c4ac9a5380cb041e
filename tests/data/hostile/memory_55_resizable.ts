// must: error memory
// must: result "RangeError"
// must on quickjs: result "InternalError"
try {
  const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 31 });
  buffer.resize(2 ** 30);
  return new Uint8Array(buffer).fill(1).length;
} catch (error) {
  return error.name;
}
