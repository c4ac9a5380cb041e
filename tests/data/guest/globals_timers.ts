const order: string[] = [];
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
setTimeout((a: string, b: string) => order.push(a + b), 0, "with ", "arguments");
queueMicrotask(() => order.push("microtask"));
const dropped = setTimeout(() => order.push("dropped"), 0);
clearTimeout(dropped);
clearTimeout(undefined);
clearTimeout(99_999);
order.push("now");
await later(1);
await later(1);
let ticks = 0;
await new Promise<void>((resolve) => {
  const id = setInterval(() => {
    ticks += 1;
    if (ticks === 3) {
      clearInterval(id);
      resolve();
    }
  }, 1);
});
await later(2);
return { order, ticks, id: typeof setTimeout(() => {}, 0) };
