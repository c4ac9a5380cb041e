// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
const a: number[] = [];
a.length = 2 ** 32 - 1;
return a.indexOf(5);
