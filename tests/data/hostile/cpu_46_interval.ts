// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
setInterval(() => {}, 0);
await new Promise(() => {});
