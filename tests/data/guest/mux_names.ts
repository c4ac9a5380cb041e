return [
  await mux["my-server"]["get-thing"]({ id: "1" }),
  await mux.my_server.get_thing({ id: "2" }),
  await mux["my-server.get-thing"]({ id: "3" }),
  await mux["my_server"]["get-thing"]({ id: "4" }),
  await mux.call("my-server.get-thing", { id: "5" }),
  await mux.call("my_server.get_thing", { id: "6" }),
].map(({ tool, id }) => `${tool} ${id}`);
