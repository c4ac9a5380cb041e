// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
return /^(a+)+$/.test("a".repeat(40) + "b");
