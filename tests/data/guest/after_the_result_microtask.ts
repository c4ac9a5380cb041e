const gate = Promise.withResolvers();
(async () => { await gate.promise; await null; await null; await null; await null; for (;;); })();
gate.resolve();
return 1;
