// An import that nobody catches says what to do instead.
// must: error runtime
// says: programs cannot import modules
const fs = await import("node:fs");
return fs.readFileSync("/etc/passwd");
