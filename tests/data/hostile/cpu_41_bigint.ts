// args: --timeout 2s
// must: error timeout
// must: error memory
// must: error runtime
let n = 3n;
for (;;) n = n ** 3n;
