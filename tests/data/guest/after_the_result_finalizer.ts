// engine: v8
const registry = new FinalizationRegistry(() => { for (;;); });
for (let i = 0; i < 100_000; i++) registry.register({}, i);
let junk = [];
for (let i = 0; i < 1_000_000; i++) junk = [junk.length, { i }];
return junk.length;
