// No string becomes code.
// must: result ["ReferenceError","EvalError","TypeError","TypeError"]
const names: string[] = [];
for (const attempt of [
  () => eval("1"),
  () => Function("return 1")(),
  () => setTimeout("globalThis.x = 1" as never, 0),
  () => setInterval("globalThis.x = 1" as never, 0),
]) {
  try {
    attempt();
    names.push("ran");
  } catch (error) {
    names.push(error.name);
  }
}
return names;
