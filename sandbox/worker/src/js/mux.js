// `mux`: every tool of every server as an async function, and the calls by path.
//
// A call leaves the isolate through one op pair with its arguments as JSON text, taken once: what a
// getter or a proxy answers later changes nothing. Names are resolved by the daemon at call time, so
// that a server which has not been started yet can be called all the same.

import { op_mux_call, op_mux_call_path } from "ext:core/ops";
import { marks, toJson } from "ext:mux/json.js";

const { parse, stringify } = JSON;
const proxies = new Map();

export class ToolError extends Error {
  constructor(fault) {
    super(fault.message);
    this.kind = fault.kind;
    this.recoverable = fault.recoverable;
    if (fault.path !== undefined) this.path = fault.path;
    if (fault.hint !== undefined) this.hint = fault.hint;
    if (fault.details !== undefined) this.details = fault.details;
  }
}
Object.defineProperty(ToolError.prototype, "name", { value: "ToolError", configurable: true, writable: true });

/** The fault behind an error of ours, as JSON text, or null. */
export const faultOf = (error) => (typeof error === "object" && error !== null && marks.get(error)) || null;

export function makeMux() {
  let inputText = "null";
  let namesText = "{}";
  let maxArgument = Infinity;
  let input;
  let names;

  const known = () => (names ??= parse(namesText));
  const toolsOf = (server) => (Object.hasOwn(known(), server) ? known()[server] : []);

  const encode = (args, path) => {
    const text = args === undefined ? "{}" : toJson(args, "argument", "validation", path);
    if (text.length > maxArgument) {
      throw failure({
        kind: "limit",
        message: `arguments of ${path} are ${text.length} bytes, over the limit of ${maxArgument}`,
        hint: "send less at once",
        path,
        recoverable: true,
      });
    }
    return text;
  };
  const failure = (fault) => {
    const error = new ToolError(fault);
    marks.set(error, stringify(fault));
    return error;
  };
  // The op answers `+` and the value, or `-` and the fault.
  const settle = (answer) => {
    const body = parse(answer.slice(1));
    if (answer[0] === "+") return body;
    throw failure(body);
  };

  const callNamed = async (server, tool, args) => settle(await op_mux_call(server, tool, encode(args, `${server}.${tool}`)));
  const callPath = async (path, args, raw) => {
    if (typeof path !== "string") throw new TypeError("mux.call needs the path of a tool, such as \"server.tool\"");
    return settle(await op_mux_call_path(path, raw, encode(args, path)));
  };

  const call = Object.assign((path, args) => callPath(path, args, false), {
    raw: (path, args) => callPath(path, args, true),
  });
  Object.freeze(call);
  const builtins = { call };

  // A proxy whose members are made on demand and kept, so that `mux.a.b === mux.a.b`.
  const world = (label, member, list) => {
    const made = new Map();
    return new Proxy(Object.create(null), {
      get(_, key) {
        // A thenable would be called by `await mux`, and a toJSON by JSON.stringify.
        if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
        if (!made.has(key)) made.set(key, member(key));
        return made.get(key);
      },
      has: (_, key) => typeof key === "string" && list().includes(key),
      ownKeys: () => list(),
      getOwnPropertyDescriptor(_, key) {
        if (typeof key !== "string" || !list().includes(key)) return undefined;
        return { value: this.get(_, key), enumerable: true, configurable: true, writable: false };
      },
      set() {
        throw new TypeError(`${label} cannot be changed`);
      },
      defineProperty() {
        throw new TypeError(`${label} cannot be changed`);
      },
      deleteProperty() {
        throw new TypeError(`${label} cannot be changed`);
      },
    });
  };

  const plain = { toString: Object.prototype.toString, valueOf: Object.prototype.valueOf, constructor: Object };
  const tool = (server) => (name) =>
    Object.hasOwn(plain, name) && !toolsOf(server).includes(name)
      ? plain[name]
      : Object.freeze(async (args) => callNamed(server, name, args));
  const server = (name) => {
    if (Object.hasOwn(builtins, name)) return builtins[name];
    if (Object.hasOwn(plain, name)) return plain[name];
    if (name === "input") return input;
    if (name.includes(".")) return Object.freeze(async (args) => callPath(name, args, false));
    if (!proxies.has(name)) proxies.set(name, world(`mux.${name}`, tool(name), () => toolsOf(name)));
    return proxies.get(name);
  };

  return {
    mux: world("mux", server, () => Object.keys(known())),
    prepare(newInput, newNames, limit) {
      inputText = newInput;
      namesText = newNames;
      maxArgument = limit;
      input = parse(inputText);
    },
  };
}
