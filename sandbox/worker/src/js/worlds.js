// The members of `mux`: servers, groups of tools, and tools, from the names that the daemon passes.
//
// Names are resolved on demand: a program that calls one tool parses no list for a server without groups, and only the
// list of that server for one with groups. The daemon decides whether a tool exists.
//
// Invariant: `await` and JSON.stringify, which call `then` and `toJSON`, never call a tool with such a name.

const { create, defineProperty, freeze, hasOwn, keys } = Object;
const { parse } = JSON;
const { apply } = Reflect;

/** Sets the name of a function, under which it is printed. */
const renamed = (name, call) => defineProperty(call, "name", { value: name, configurable: true });
export const named = (name, call) => freeze(renamed(name, call));

// Members that every proxy has, unless a tool has the same name.
export const plain = { toString: Object.prototype.toString, valueOf: Object.prototype.valueOf, constructor: Object };
// Members of functions, which proxies of callable tools forward.
const OF_FUNCTIONS = create(null);
for (const name of [...keys(plain), "apply", "bind", "call", "hasOwnProperty", "length", "name"]) OF_FUNCTIONS[name] = true;

/** A proxy whose members are created on demand and kept, so that `mux.a.b === mux.a.b`. */
export const world = (label, member, list, of = create(null)) => {
  const made = create(null);
  const refuse = () => {
    throw new TypeError(`${label} cannot be changed`);
  };
  const get = (_, key) => {
    if (typeof key === "symbol") return undefined;
    if (made[key] !== undefined) return made[key];
    const isHook = key === "then" || key === "toJSON";
    if (isHook && !list().includes(key) && !list().includes(spell(key))) return undefined;
    const found = member(key, (other) => get(_, other));
    return (made[key] = isHook && typeof found === "function" ? hook(found) : found);
  };
  // A tool named `then` or `toJSON`. No tool takes a function or a string, which `await` and JSON.stringify pass.
  const hook = (call) =>
    new Proxy(call, {
      apply(_, self, given) {
        if (typeof given[0] === "function") return given[0](withoutThen);
        return typeof given[0] === "string" ? {} : apply(call, self, given);
      },
    });
  const proxy = new Proxy(of, {
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
  const withoutThen = new Proxy(proxy, { get: (_, key) => (key === "then" ? undefined : proxy[key]) });
  return proxy;
};

/** How a segment is spelled after a dot. The same rule as `spell_flat` of mux-typegen. */
const spell = (segment) => {
  const spelled = segment.replace(/[^\w$]+/g, "_").replace(/^\d/, "_$&");
  return spelled === "" || spelled === "then" || spelled === "toJSON" ? `${spelled}_` : spelled;
};

// Indexes one list of an outline by name: null for a tool, and `[name, [...], 1?]` for a group.
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
 * The proxies of the servers, from the text that the daemon passes: a line of JSON with the name of each server and
 * whether it has groups (null if its tools are unknown), then a line for each server whose tools are known.
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

  // A tool or group that may or may not exist, as may its members: only a call can tell.
  const anything = (server, path) => {
    const call = renamed(last(path), caller(server, path));
    const member = (key) => (OF_FUNCTIONS[key] ? call[key] : anything(server, `${path}.${key}`));
    return world(`mux.${server}.${path}`, member, () => [], call);
  };

  // A server without groups: every name is a tool.
  const flat = (server) => {
    let list;
    const listed = () => (list ??= outline(server));
    const member = (name) =>
      hasOwn(plain, name) && !listed().includes(name) ? plain[name] : named(name, caller(server, name));
    return world(`mux.${server}`, member, listed);
  };

  // A server with groups, or a group. `call` is the tool, if the group is also a tool.
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
      // The exact name of a group or a tool also works.
      const spelled = spell(key);
      if (spelled !== key && entries[spelled]) return other(spelled);
      const isWhole = prefix === "" && key.includes(".");
      return isWhole || isSpelling(spelled) ? named(key, caller(server, path)) : anything(server, path);
    };
    const label = `mux.${server}${prefix === "" ? "" : `.${prefix.slice(0, -1)}`}`;
    return world(label, member, () => here().list, call);
  };

  return {
    /** The member of `mux` for a server. */
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
