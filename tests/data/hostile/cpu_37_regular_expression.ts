// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
// engine: v8
return /^(a+)+$/.test("a".repeat(40) + "b");
