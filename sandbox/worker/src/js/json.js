// Converts values that leave the isolate to JSON. Values that JSON would drop silently (functions, promises, maps) are
// refused with their path instead.

// The maximum nesting depth of a value. The JSON reader of the daemon supports 128 levels, including those around it.
const MAX_DEPTH = 100;

const { rawJSON, stringify } = JSON;
const { asIntN, asUintN } = BigInt;
const { isArray } = Array;
const isPromise = (v) => v instanceof Promise || (typeof v?.then === "function");
const isIterator = (v) =>
  typeof v.next === "function" && typeof (v[Symbol.iterator] ?? v[Symbol.asyncIterator]) === "function" && typeof v.toJSON !== "function";
const typedArray = Object.getPrototypeOf(Uint8Array);

// Classes of the prelude whose instances have no properties, each with its name and a replacement.
const unsendable = [];
export const refuseInstances = (type, what, hint) => void (unsendable[unsendable.length] = [type, what, hint]);

// The integers that the daemon reads exactly.
const isLong = (value) => asIntN(64, value) === value || asUintN(64, value) === value;

const refusal = (value) => {
  switch (typeof value) {
    case "function":
      return ["a function", "return data, or call the function and return what it gives"];
    case "symbol":
      return ["a symbol", "use its description, a string"];
    case "bigint":
      return isLong(value) ? undefined : ["a BigInt beyond 64 bits", "use String(x)"];
    case "object":
      if (value === null || isArray(value)) return undefined;
      if (isPromise(value)) return ["a promise", "await it first (Promise.all for several)"];
      if (value instanceof Map) return ["a Map", "use Object.fromEntries(map)"];
      if (value instanceof Set) return ["a Set", "use [...set]"];
      if (value instanceof WeakMap || value instanceof WeakSet) return ["a weak collection", "return its members"];
      if (value instanceof ArrayBuffer || value instanceof DataView) return ["binary data", "use Array.from(new Uint8Array(buffer))"];
      if (value instanceof RegExp) return ["a regular expression", "use String(x)"];
      for (let i = 0; i < unsendable.length; i++) {
        const [type, what, hint] = unsendable[i];
        if (value instanceof type) return [what, hint];
      }
      if (isIterator(value)) return ["an iterator", "use [...x]"];
  }
  return undefined;
};

// Converts errors and typed arrays, whose obvious form JSON.stringify does not know.
const translated = (value) => {
  if (typeof value === "bigint") return rawJSON(`${value}`);
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof typedArray) return Array.from(value);
  return value;
};

export class NotJson extends TypeError {
  get name() {
    return "NotJson";
  }
}

// The faults of our errors, as JSON, which the host reports. Bound, because a program that replaces methods of
// `WeakMap.prototype` must not get hold of this map.
const marks = new WeakMap();
export const mark = marks.set.bind(marks);
export const marked = marks.get.bind(marks);

const refuse = (kind, message, hint, path) => {
  const fault = { kind, message, hint, path, recoverable: true };
  const error = new NotJson(message);
  mark(error, stringify(fault));
  // The same properties as a `ToolError`, for a program that catches it.
  for (const field of ["kind", "recoverable", "path", "hint"]) {
    if (fault[field] !== undefined) error[field] = fault[field];
  }
  return error;
};

// Replaces lone surrogates, such as at the end of a string that was cut inside an emoji, by U+FFFD, as every web
// encoder does: JSON escapes them, and most readers refuse them.
const wellFormed = (text) =>
  text.includes("\\ud") ? text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? "\\ufffd" : escape)) : text;

/** JSON text of `value`; `what` names it in errors. `undefined` is null. */
export function toJson(value, what, kind = "runtime", path = undefined) {
  const top = refusal(value);
  if (top) throw refuse(kind, `${what} is ${top[0]}, which JSON cannot hold`, top[1], path);
  // The objects that the replacer is in, outermost first, and the key that led to each.
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
    if (typeof next === "object" && next !== null && typeof afterToJson !== "bigint") {
      for (const holder of holders) {
        if (holder === next) throw refuse(kind, `${what}${at(key)} refers back to an object around it, which JSON cannot hold`, "return the fields that you need", path);
      }
      if (holders.length >= MAX_DEPTH) {
        const hint = "this limit is fixed: flatten the data, or send it as text";
        throw refuse("limit", `${what} is nested deeper than the limit of ${MAX_DEPTH} levels`, hint, path);
      }
      holders.push(next);
      keys.push(key);
    }
    return next;
  }
  const text = stringify(value, replacer);
  return text === undefined ? "null" : wellFormed(text);
}
