// The bridge works on, and what it holds is never handed to a replaced method.
// must: result {"sum":5,"leaked":[]}
// must on quickjs: error runtime
const { add } = mux.fix;
const leaked: string[] = [];
const real = { then: Promise.prototype.then, stringify: JSON.stringify, parse: JSON.parse, iterator: Array.prototype[Symbol.iterator], call: Function.prototype.call, apply: Function.prototype.apply, get: Map.prototype.get, set: Map.prototype.set, wget: WeakMap.prototype.get, wset: WeakMap.prototype.set, push: Array.prototype.push };
const { apply } = Reflect;
const own = Object.prototype.hasOwnProperty;
const spy = (holder, name, f) => {
  holder[name] = function (...args) {
    for (const value of [this, ...args]) {
      if (typeof value === "object" && value !== null && (apply(own, value, ["_timerId"]) || apply(own, value, ["ops"]))) leaked[leaked.length] = name;
    }
    return apply(f, this, args);
  };
};
spy(Map.prototype, "get", real.get);
spy(Map.prototype, "set", real.set);
spy(WeakMap.prototype, "get", real.wget);
spy(WeakMap.prototype, "set", real.wset);
spy(Function.prototype, "call", real.call);
Promise.prototype.then = function (...args) { return apply(real.then, this, args); };
JSON.stringify = () => "{}";
JSON.parse = () => ({ sum: "forged" });
Array.prototype.push = function () { return 0; };
setTimeout(() => {}, 0);
let sum;
try {
  sum = (await add({ a: 2, b: 3 })).sum;
} finally {
  Promise.prototype.then = real.then;
  JSON.stringify = real.stringify;
  JSON.parse = real.parse;
  Map.prototype.get = real.get;
  Map.prototype.set = real.set;
  WeakMap.prototype.get = real.wget;
  WeakMap.prototype.set = real.wset;
  Function.prototype.call = real.call;
  Array.prototype.push = real.push;
}
return { sum, leaked };
