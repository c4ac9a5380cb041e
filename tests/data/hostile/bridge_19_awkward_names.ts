// Names that mean something to the language are no servers, and awaiting the bridge ends.
// must: result ["undefined","not_found","not_found","not_found","not_found"]
const awaited = await mux;
const kinds: string[] = [typeof awaited.then];
for (const path of ["__proto__.x", "then.x", "x".repeat(128) + ".y", "\u0441onstructor.name"]) {
  try {
    await mux.call(path, {});
    kinds.push("called");
  } catch (error) {
    kinds.push(error.kind);
  }
}
return kinds;
