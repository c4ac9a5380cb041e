// must: error limit
// says: over the limit
// says: return a summary
// must on quickjs: error runtime
// must on quickjs: error memory
return "x".repeat(50_000_000);
