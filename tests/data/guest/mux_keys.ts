await Promise.all([mux.fix.pid(), mux["my-server"].pid()]);
const tools = Object.keys(mux.fix);
return {
  servers: Object.keys(mux),
  first: tools.slice(0, 3),
  has: ["fix" in mux, "nope" in mux, "echo" in mux.fix, "nope" in mux.fix],
  spread: typeof { ...mux.fix }.echo,
  entries: Object.entries(mux).map(([name, server]) => `${name} ${typeof server}`),
  same: mux.fix === mux.fix && mux.fix.echo === mux.fix.echo,
  kinds: [typeof mux, typeof mux.fix, typeof mux.fix.echo, typeof mux.nope.nope],
};
