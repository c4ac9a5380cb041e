const zoo = mux.zoo as any;
const attempts: Record<string, () => unknown> = {
  group: () => zoo.pets.getPetById({ id: 1 }),
  tool: () => zoo.pet.getPet({ id: 1 }),
  short: () => zoo.getPetById({ id: 1 }),
  no_tool: () => mux.call("zoo.my_store"),
  called: () => zoo.my_store({}),
  ambiguous: () => mux.call("zoo.x.a b"),
  changed: () => { zoo.my_store.order = 1; },
  added: () => { zoo.pet.mine = 1; },
  server: () => (mux as any).zoos.pet.getPetById({ id: 1 }),
};
for (const [what, attempt] of Object.entries(attempts)) {
  try {
    console.log(what, await attempt());
  } catch (error) {
    console.log(what, error.kind ?? error.name, error.message, error.hint ?? "");
  }
}
