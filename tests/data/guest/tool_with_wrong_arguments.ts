const total = await mux.fix.add({
  a: "1",
  c: 3,
});
