// Errors that cross async iteration are the program's own or the bridge's, and lead nowhere.
// must: result ["ToolError",true]
async function* calls() {
  try {
    yield mux.fix.nothing({});
  } finally {
    await 0;
  }
}
try {
  await Array.fromAsync(calls());
} catch (error) {
  const compiler = (() => {
    try {
      return error.constructor.constructor("return 1")();
    } catch (e) {
      return e.name === "EvalError" || true;
    }
  })();
  return [error.name, compiler === true || compiler === 1];
}
