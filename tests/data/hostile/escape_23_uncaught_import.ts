// An import that nobody catches says what to do instead.
// must: error runtime
// says: programs import nothing
const fs = await import("node:fs");
return fs.readFileSync("/etc/passwd");
