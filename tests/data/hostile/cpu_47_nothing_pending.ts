// Said at once, and not at the end of the wall time.
// args: --timeout 300s
// must: error deadlock
await new Promise(() => {});
