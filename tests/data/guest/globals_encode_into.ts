const bytes = new Uint8Array(6);
const told = new TextEncoder().encodeInto("aé😀x", bytes);
const all = new TextEncoder().encodeInto("aé", bytes.subarray(3));
let refused;
try {
  new TextEncoder().encodeInto("a", []);
} catch (error) {
  refused = error.name;
}
return [told, all, [...bytes], refused];
