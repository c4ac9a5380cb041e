// Values that leave the isolate, as JSON text. What JSON would drop without a word (functions,
// promises, maps, errors inside a value) is refused with the place where it stands instead.

const { stringify } = JSON;
const { isArray } = Array;
const isPromise = (v) => v instanceof Promise || (typeof v?.then === "function");
const typedArray = Object.getPrototypeOf(Uint8Array);

const refusal = (value) => {
  switch (typeof value) {
    case "function":
      return ["a function", "return data, or call the function and return what it gives"];
    case "symbol":
      return ["a symbol", "use its description, a string"];
    case "bigint":
      return ["a BigInt", "use Number(x) or String(x)"];
    case "object":
      if (value === null || isArray(value)) return undefined;
      if (isPromise(value)) return ["a promise", "await it first (Promise.all for several)"];
      if (value instanceof Map) return ["a Map", "use Object.fromEntries(map)"];
      if (value instanceof Set) return ["a Set", "use [...set]"];
      if (value instanceof WeakMap || value instanceof WeakSet) return ["a weak collection", "return its members"];
      if (value instanceof ArrayBuffer || value instanceof DataView) return ["binary data", "use Array.from(new Uint8Array(buffer))"];
  }
  return undefined;
};

// Errors and typed arrays have an obvious form that JSON.stringify does not know.
const translated = (value) => {
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof typedArray) return Array.from(value);
  return value;
};

export class NotJson extends TypeError {
  get name() {
    return "NotJson";
  }
}

/** What marks an error as ours: the kind and hint that the host reports. */
export const marks = new WeakMap();

export const refuse = (kind, message, hint, path) => {
  const error = new NotJson(message);
  marks.set(error, stringify({ kind, message, hint, path, recoverable: true }));
  return error;
};

/** JSON text of `value`; `what` names it in errors. `undefined` is null. */
export function toJson(value, what, kind = "runtime", path = undefined) {
  const top = refusal(value);
  if (top) throw refuse(kind, `${what} is ${top[0]}, which JSON cannot hold`, top[1], path);
  // The objects that the replacer stands in, outermost first, and the key that led into each.
  const holders = [];
  const keys = [];
  const at = (key) => {
    let place = "";
    for (const k of [...keys.slice(1), key]) place += /^[A-Za-z_$][\w$]*$/.test(k) ? `.${k}` : `[${/^\d+$/.test(k) ? k : stringify(k)}]`;
    return place;
  };
  function replacer(key, afterToJson) {
    while (holders.length > 0 && holders[holders.length - 1] !== this) {
      holders.pop();
      keys.pop();
    }
    const bad = refusal(afterToJson);
    if (bad) throw refuse(kind, `${what}${at(key)} is ${bad[0]}, which JSON cannot hold`, bad[1], path);
    const next = translated(afterToJson);
    if (typeof next === "object" && next !== null) {
      for (const holder of holders) {
        if (holder === next) throw refuse(kind, `${what}${at(key)} refers back to an object around it, which JSON cannot hold`, "return the fields that you need", path);
      }
      holders.push(next);
      keys.push(key);
    }
    return next;
  }
  const text = stringify(value, replacer);
  return text === undefined ? "null" : text;
}
