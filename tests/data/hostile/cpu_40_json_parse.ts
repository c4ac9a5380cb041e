// args: --timeout 2s
// must: error timeout
// must: error memory
// must: error runtime
for (;;) JSON.parse("[" + "1,".repeat(2e6) + "1]");
