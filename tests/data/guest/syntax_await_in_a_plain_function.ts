function load() {
  return await mux.fix.echo({ text: "x" });
}
return load();
