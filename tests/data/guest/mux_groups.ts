// Dots in the name of a tool make groups.
const zoo = mux.zoo;
const called = [
  await zoo.pet.getPetById({ id: 1 }),
  await mux["zoo"]["pet"]["getPetById"]({ id: 2 }),
  await mux["zoo.pet.getPetById"]({ id: 3 }),
  await mux.call("zoo.pet.getPetById", { id: 4 }),
  await zoo["pet.getPetById"]({ id: 5 }),
  await zoo.pet({ id: "6" }),
  await zoo.pet.list_all({ id: "7" }),
  await zoo.pet["list-all"]({ id: "8" }),
  await zoo["pet.list-all"]({ id: "9" }),
  await mux.call("zoo.pet_list_all", { id: "10" }),
  await zoo.my_store.order.then_({ id: "11" }),
  await zoo["my-store"].order.then_({ id: "12" }),
  await zoo["my-store.order.then"]({ id: "13" }),
  await mux.call("zoo.my-store.order.then_", { id: "14" }),
  await zoo.a_b({ id: "15" }),
  await zoo["a..b"]({ id: "16" }),
  await zoo.x.a_b({ id: "17" }),
  await zoo["x.a-b"]({ id: "18" }),
];
return called.map((c) => `${c.tool} ${c.id}`);
