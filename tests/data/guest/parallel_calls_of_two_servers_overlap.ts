const first = mux.fix.barrier({ name: "pair", parties: 2 });
const second = mux["my-server"].barrier({ name: "pair", parties: 2 });
// Both wait for a partner that comes only while they wait.
const partners = [mux.fix.barrier({ name: "pair", parties: 2 }), mux["my-server"].barrier({ name: "pair", parties: 2 })];
return await Promise.all([first, second, ...partners]);
