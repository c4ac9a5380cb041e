void (async () => {
  return (await mux.fix.add({ a: 1, b: 2 })).sum;
})();
