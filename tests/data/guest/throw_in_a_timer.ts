setTimeout(() => {
  throw new Error("from a timer");
}, 1);
await new Promise(() => {});
