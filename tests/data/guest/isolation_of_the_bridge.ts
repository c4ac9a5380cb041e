// What a program does to these built-ins does not reach the bridge beneath it.
const never = () => {
  throw new Error("never asked");
};
JSON.parse = never;
JSON.stringify = never;
Object.hasOwn = never;
Object.freeze = never;
Map.prototype.get = never;
WeakMap.prototype.set = never;
WeakMap.prototype.get = never;
Error.captureStackTrace = never;
try {
  await mux.fix.fail({ message: "as ever" });
} catch (error) {
  console.log(error.kind, error.message);
}
return (await mux.fix.add({ a: 1, b: 2 })).sum;
