// That a buffer did not fit is no excuse for a heap that grows afterwards.
// must: error memory
try {
  new Uint8Array(2 ** 30).fill(1);
} catch {}
const all: unknown[] = [];
for (;;) all.push(new Array(1000).fill({}));
