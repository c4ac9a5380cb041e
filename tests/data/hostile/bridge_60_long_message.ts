// A long message is cut.
// must: error runtime
// says: mmmm
throw new Error("m".repeat(1_000_000));
