// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
const thenable = { then: (resolve: (value: unknown) => void) => resolve(thenable) };
await thenable;
