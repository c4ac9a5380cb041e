// Every way to a compiler of strings, found through objects at hand.
// must: result ["EvalError","EvalError","EvalError","EvalError"]
// must on quickjs: result ["ran","EvalError","EvalError","EvalError"]
const names: string[] = [];
for (const kind of [() => {}, async () => {}, function* () {}, async function* () {}]) {
  try {
    kind.constructor("return globalThis")();
    names.push("ran");
  } catch (error) {
    names.push(error.name);
  }
}
return names;
