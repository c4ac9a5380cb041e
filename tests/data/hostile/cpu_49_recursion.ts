// must: result ["RangeError","RangeError"]
const deep = (): number => deep() + 1;
const text: { toString(): string } = { toString: () => `${text}` };
const names: string[] = [];
for (const attempt of [deep, () => `${text}`]) {
  try {
    attempt();
    names.push("none");
  } catch (error) {
    names.push(error.name);
  }
}
return names;
