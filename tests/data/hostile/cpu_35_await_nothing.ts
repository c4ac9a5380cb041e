// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
for (;;) await 0;
