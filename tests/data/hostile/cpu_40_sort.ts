// args: --timeout 2s
// must: error timeout
// must: error memory
// must: error runtime
for (;;) new Float64Array(7e6).map(Math.random).sort();
