const zoo = mux.zoo;
const hidden = (value: unknown) => value as any;
console.log(zoo.my_store, "and", zoo.pet);
return {
  keys: Object.keys(zoo).slice(-5),
  groups: [Object.keys(zoo.pet), Object.keys(zoo.my_store), Object.keys(zoo.my_store.order), Object.keys(zoo.x)],
  kinds: [typeof zoo.my_store, typeof zoo.pet, typeof zoo.pet.getPetById, typeof zoo.my_store.order],
  same: [zoo.pet === zoo.pet, zoo.my_store.order === hidden(zoo)["my-store"].order, zoo.x.a_b === zoo.x.a_b],
  has: ["pet" in zoo, "pets" in zoo, "getPetById" in zoo.pet, "order" in zoo.my_store, "name" in zoo.pet],
  awaited: [(await zoo.my_store) === zoo.my_store, (await zoo.pet) === zoo.pet],
  texts: [String(zoo.my_store), JSON.stringify(zoo), JSON.stringify(zoo.my_store), typeof JSON.stringify(zoo.pet)],
  names: [zoo.pet.name, zoo.pet.getPetById.name, hidden(zoo.pet).length],
  spread: Object.keys({ ...zoo.my_store }),
  bound: await zoo.pet.bind(null)({ id: "1" }),
  members: Object.entries(zoo.my_store).map(([name, group]) => `${name} ${Object.keys(group)}`),
  thenable: [hidden(zoo.pet).then, typeof hidden(zoo.my_store.order).then, hidden(zoo.pet).toJSON],
  group: (await hidden(zoo.my_store.order)).then,
};
