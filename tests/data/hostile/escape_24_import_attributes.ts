// Attributes make no import legal.
// must: result []
const loaded: string[] = [];
for (const type of ["json", "text", "bytes"]) {
  try {
    await import("file:///etc/hostname", { with: { type } });
    loaded.push(type);
  } catch {
    // As it should be.
  }
}
return loaded;
