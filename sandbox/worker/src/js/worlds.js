// What stands under `mux.`: servers, groups of tools and tools, as the names that the daemon knows tell.
//
// A name is looked at when somebody asks for it: a program that calls one tool reads no list of a server
// without groups, and of one with groups only its own. Whether a tool exists is the daemon's to say.
//
// Invariant: nothing here answers to `then` or `toJSON`, or `await` and JSON.stringify would call it.

const { create, defineProperty, freeze, hasOwn, keys } = Object;
const { parse } = JSON;

/** Gives a function the name under which it is printed. */
const renamed = (name, call) => defineProperty(call, "name", { value: name, configurable: true });
export const named = (name, call) => freeze(renamed(name, call));

// What every object answers, unless a tool is called so.
export const plain = { toString: Object.prototype.toString, valueOf: Object.prototype.valueOf, constructor: Object };
// What a function answers.
const OF_FUNCTIONS = create(null);
for (const name of [...keys(plain), "apply", "bind", "call", "hasOwnProperty", "length", "name"]) OF_FUNCTIONS[name] = true;

/** A proxy whose members are made on demand and kept, so that `mux.a.b === mux.a.b`. */
export const world = (label, member, list, of = create(null)) => {
  const made = create(null);
  const refuse = () => {
    throw new TypeError(`${label} cannot be changed`);
  };
  const get = (_, key) => {
    if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
    return (made[key] ??= member(key, (other) => get(_, other)));
  };
  return new Proxy(of, {
    get,
    has: (_, key) => typeof key === "string" && list().includes(key),
    ownKeys: () => list(),
    getOwnPropertyDescriptor(_, key) {
      if (typeof key !== "string" || !list().includes(key)) return undefined;
      return { value: get(_, key), enumerable: true, configurable: true, writable: false };
    },
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  });
};

/** How a segment is written after a dot: the rule of the daemon. */
const spell = (segment) => {
  const spelled = segment.replace(/[^\w$]+/g, "_").replace(/^\d/, "_$&");
  return spelled === "" || spelled === "then" || spelled === "toJSON" ? `${spelled}_` : spelled;
};

// One list of an outline, by its names: null for a tool, and `[name, [...], 1?]` for a group.
const indexed = (outline) => {
  const entries = create(null);
  const list = [];
  for (const entry of outline) {
    const isTool = typeof entry === "string";
    const name = isTool ? entry : entry[0];
    entries[name] = isTool ? null : entry;
    list.push(name);
  }
  return { entries, list };
};

/**
 * The servers' worlds, from the text that the daemon gives: a line of JSON with each server's name and whether it
 * has groups (null if nobody knows its tools), then a line for each whose tools are known.
 */
export function makeWorlds(callNamed) {
  let text = "{}";
  let known;

  const servers = () => (known ??= parse(text.split("\n", 1)[0]));
  const outline = (server) => {
    const lines = text.split("\n");
    let line = 1;
    for (const name of keys(servers())) {
      if (name === server) return parse(lines[line]);
      if (servers()[name] !== null) line += 1;
    }
  };
  const caller = (server, path) => async (args) => callNamed(server, path, args);
  const last = (path) => path.slice(path.lastIndexOf(".") + 1);

  // A tool that may exist, with members that may: only a call tells.
  const anything = (server, path) => {
    const call = renamed(last(path), caller(server, path));
    const member = (key) => (OF_FUNCTIONS[key] ? call[key] : anything(server, `${path}.${key}`));
    return world(`mux.${server}.${path}`, member, () => [], call);
  };

  // Without groups every name is that of a tool.
  const flat = (server) => {
    let list;
    const listed = () => (list ??= outline(server));
    const member = (name) =>
      hasOwn(plain, name) && !listed().includes(name) ? plain[name] : named(name, caller(server, name));
    return world(`mux.${server}`, member, listed);
  };

  // A server with groups, or one of those; `call` is the tool, if a group is one, too.
  const grouped = (server, prefix, read, call) => {
    let level;
    let spellings;
    const here = () => (level ??= indexed(read()));
    const isSpelling = (key) => (spellings ??= here().list.map(spell)).includes(key);
    const member = (key, other) => {
      const path = prefix + key;
      const { entries } = here();
      const entry = entries[key];
      if (entry === null) return named(key, caller(server, path));
      if (entry !== undefined) {
        const own = entry.length > 2 ? renamed(key, caller(server, path)) : undefined;
        return grouped(server, `${path}.`, () => entry[1], own);
      }
      if (call !== undefined && OF_FUNCTIONS[key]) return call[key];
      if (hasOwn(plain, key)) return plain[key];
      // The exact names of a group and of a tool lead there, too.
      const spelled = spell(key);
      if (spelled !== key && entries[spelled]) return other(spelled);
      const isWhole = prefix === "" && key.includes(".");
      return isWhole || isSpelling(spelled) ? named(key, caller(server, path)) : anything(server, path);
    };
    const label = `mux.${server}${prefix === "" ? "" : `.${prefix.slice(0, -1)}`}`;
    return world(label, member, () => here().list, call);
  };

  return {
    /** What stands there under the name of a server. */
    server(name) {
      const hasGroups = hasOwn(servers(), name) ? servers()[name] : null;
      if (hasGroups === null) {
        const member = (key) => (hasOwn(plain, key) ? plain[key] : anything(name, key));
        return world(`mux.${name}`, member, () => []);
      }
      return hasGroups ? grouped(name, "", () => outline(name)) : flat(name);
    },
    list: () => keys(servers()),
    prepare(names) {
      text = names;
    },
  };
}
