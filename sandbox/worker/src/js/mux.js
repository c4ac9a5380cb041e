// `mux`: every tool of every server as an async function, calls by path, and the functions of the daemon itself.
//
// A call leaves the isolate through an op, with its arguments as JSON that is made once: later values of a getter or a
// proxy have no effect. The daemon resolves names at call time, so a server that has not been started yet can be
// called.

import { op_mux_call, op_mux_call_own, op_mux_call_path, op_mux_emit, op_mux_parse } from "ext:core/ops";
import { mark, marked, toJson } from "ext:mux/json.js";
import { offers } from "ext:mux/offers.js";
import { own } from "ext:mux/own.js";
import { wrongPart } from "ext:mux/parts.js";
import { makeWorlds, named, plain, world } from "ext:mux/worlds.js";

const { parse, stringify } = JSON;
const { create, defineProperty, freeze, hasOwn, keys } = Object;
const { isArray } = Array;
const { apply } = Reflect;
const { captureStackTrace } = Error;

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
export const faultOf = (error) => marked(error) ?? null;

// A frame of the program in a stack, with the columns of its script.
const PLACE = /\bprogram\.ts:(\d+):(\d+)/;

/** Captures the stack of a call, for an error that arrives on an empty stack. */
const callSite = () => {
  const site = {};
  captureStackTrace(site);
  return site;
};

const FORMATS = "mux.$parse(text, format) takes \"json\", \"jsonl\", \"python\", \"yaml\", \"tsv\" or \"csv\"";

export function makeMux() {
  let inputText = "null";
  let maxArgument = Infinity;
  let input;
  let hasCalled = false;

  const encode = (args, path) => {
    hasCalled = true;
    const text = args === undefined ? "{}" : toJson(args, "argument", "validation", path);
    if (text.length > maxArgument) {
      throw failure({
        kind: "limit",
        message: `arguments of ${path} are ${text.length} bytes, over the limit of ${maxArgument}`,
        hint: "send less at once; [limits] argument in config.toml allows more, up to 15 MiB",
        path,
        recoverable: true,
      }, callSite());
    }
    return text;
  };
  const failure = (fault, site) => {
    const error = new ToolError(fault);
    // No frame of the program is on the stack: use the stack of the call.
    if (!PLACE.test(error.stack)) {
      const [, line, column] = PLACE.exec(site.stack) ?? [];
      const frames = site.stack.slice(site.stack.indexOf("\n"));
      defineProperty(error, "stack", { value: `ToolError: ${fault.message}${frames}`, writable: true, configurable: true });
      if (line !== undefined) fault = { ...fault, line: Number(line), column: Number(column) };
    }
    mark(error, stringify(fault));
    return error;
  };
  // The op returns `+` and the value, or `-` and the fault.
  const settle = (answer, site) => {
    const body = parse(answer.slice(1));
    if (answer[0] === "+") return body;
    throw failure(body, site);
  };

  const callNamed = async (server, tool, args) => {
    const site = callSite();
    return settle(await op_mux_call(server, tool, encode(args, `${server}.${tool}`)), site);
  };
  const callPath = async (path, args, raw) => {
    if (typeof path !== "string") throw new TypeError("mux.call needs the path of a tool, such as \"server.tool\"");
    const site = callSite();
    return settle(await op_mux_call_path(path, raw, encode(args, path)), site);
  };

  const invalid = (path, [message, hint]) =>
    failure({ kind: "validation", message, hint, path, recoverable: true }, callSite());
  const callOwn = async (name, given, make = own[name]) => {
    const path = `mux.${name}`;
    const site = callSite();
    const { args, wrong } = apply(make, undefined, given);
    if (wrong) throw invalid(path, wrong);
    return settle(await op_mux_call_own(name, encode(args, path)), site);
  };
  // The JSON that leaves the isolate is validated. If one of several parts is invalid, none is sent.
  const emit = (part) => {
    hasCalled = true;
    const several = isArray(part);
    const count = several ? part.length : 1;
    const texts = create(null);
    for (let i = 0; i < count; i++) {
      const what = several ? `part[${i}]` : "part";
      texts[i] = toJson(several ? part[i] : part, what, "validation", "mux.emit");
      const wrong = wrongPart(parse(texts[i]), what);
      if (wrong) throw invalid("mux.emit", wrong);
    }
    for (let i = 0; i < count; i++) {
      const refused = op_mux_emit(texts[i]);
      if (refused !== null) throw failure(parse(refused), callSite());
    }
  };

  // The value of a tool that returns JSON is already parsed.
  const parseText = (text, format) => {
    if (typeof text !== "string") return text;
    if (format !== undefined && typeof format !== "string") throw invalid("mux.$parse", [`the format is no text`, FORMATS]);
    const answer = op_mux_parse(text, format ?? "");
    if (answer === null) throw invalid("mux.$parse", [`there is no format ${stringify(format)}`, FORMATS]);
    const body = parse(answer.slice(1));
    if (answer[0] === "+") return body;
    const hint = format === undefined ? FORMATS : "without a format, the text decides";
    throw failure({ ...body, kind: "validation", hint, path: "mux.$parse", recoverable: true }, callSite());
  };

  const callOf = (path, args) => callPath(path, args, false);
  callOf.raw = named("raw", (path, args) => callPath(path, args, true));
  const builtins = { call: named("call", callOf), emit: named("emit", emit), $parse: named("$parse", parseText) };
  // `catalog.tools` is a member of `mux.catalog`.
  for (const name of keys(own)) {
    const [group, member] = name.split(".");
    const call = named(member ?? group, (...given) => callOwn(name, given));
    if (member === undefined) builtins[group] = call;
    else (builtins[group] ??= {})[member] = call;
  }
  for (const name of keys(builtins)) freeze(builtins[name]);

  const worlds = makeWorlds(callNamed);
  // `mux.resources` and `mux.prompts` have a member for each server, with the functions of the group as its members.
  const beside = (group) => {
    const member = (server) => {
      if (hasOwn(plain, server) && !worlds.list().includes(server)) return plain[server];
      const made = {};
      for (const name of keys(offers[group])) {
        const make = offers[group][name];
        made[name] = named(name, (...given) => callOwn(`${group}.${name}`, [server, ...given], make));
      }
      return freeze(made);
    };
    return world(`mux.${group}`, member, worlds.list);
  };
  for (const group of keys(offers)) builtins[group] = beside(group);
  const server = (name) => {
    if (hasOwn(builtins, name)) return builtins[name];
    if (hasOwn(plain, name) && !worlds.list().includes(name)) return plain[name];
    if (name === "input") return input;
    if (name.includes(".")) return named(name, async (args) => callPath(name, args, false));
    return worlds.server(name);
  };

  return {
    mux: world("mux", server, worlds.list),
    hasCalled: () => hasCalled,
    prepare(newInput, newNames, limit) {
      inputText = newInput;
      maxArgument = limit;
      worlds.prepare(newNames);
      input = parse(inputText);
    },
  };
}
