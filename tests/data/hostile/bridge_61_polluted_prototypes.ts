// A part is what its own fields say, whatever stands on the prototypes.
// must: result ["validation","validation"]
const kinds: string[] = [];
Object.prototype["type"] = "text";
Object.prototype["text"] = "from the prototype";
for (const part of [{}, { data: "" }] as any[]) {
  try {
    mux.emit(part);
    kinds.push("emitted");
  } catch (error) {
    kinds.push(error.kind);
  }
}
return kinds;
