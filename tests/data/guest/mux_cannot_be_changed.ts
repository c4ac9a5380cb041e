const attempts: Record<string, () => unknown> = {
  assign: () => { (globalThis as any).mux = {}; },
  server: () => { mux.fix = {} as any; },
  added: () => { (mux as any).mine = 1; },
  deleted: () => { delete (mux as any).fix; },
  defined: () => Object.defineProperty(mux, "fix", { value: 1 }),
  prototype: () => Object.setPrototypeOf(mux, {}),
  frozen: () => Object.freeze(mux),
  tool: () => { mux.fix.echo = 1 as any; },
  property: () => { (mux.fix.echo as any).x = 1; },
  call: () => { (mux.call as any).raw = 1; },
};
for (const [what, attempt] of Object.entries(attempts)) {
  try {
    attempt();
    console.log(what, "was possible");
  } catch (error) {
    console.log(what, error.name, error.message);
  }
}
return await mux.fix.echo({ text: "unharmed" });
