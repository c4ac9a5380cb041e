// must: error runtime
// says: refers back
const a: Record<string, unknown> = {};
a.b = { a };
return a;
