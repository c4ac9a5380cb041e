// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
const again = () => void Promise.resolve().then(again);
again();
await new Promise(() => {});
