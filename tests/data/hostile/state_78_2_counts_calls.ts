// Nothing calls any more: the counter of the run before stands still.
// must: result 0
const first = await mux.fix.counter({ key: "late", by: 0 });
await new Promise((resolve) => setTimeout(resolve, 20));
const second = await mux.fix.counter({ key: "late", by: 0 });
return (Number(second.value ?? second) - Number(first.value ?? first));
