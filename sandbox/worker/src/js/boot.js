// Entry of the prelude: builds the globals of the guest's realm and provides the host object. The prelude is evaluated
// once for each isolate, before any guest code, or once for a snapshot from which many isolates are built. It must
// therefore not keep random values or the time of day.
//
// Invariant: guest code never holds a reference to `Deno`, to an op, or to anything from which one can be reached. The
// prelude captures the built-ins that it uses before the guest can replace them.

import { core } from "ext:core/mod.js";
import { op_mux_ended } from "ext:core/ops";
import { makeConsole } from "ext:mux/console.js";
import { toJson } from "ext:mux/json.js";
import { faultOf, makeMux } from "ext:mux/mux.js";
import * as web from "ext:mux/web.js";

const define = (name, value, writable = true) =>
  Object.defineProperty(globalThis, name, { value, writable, configurable: writable, enumerable: false });

// Rejections that are not handled so far. A rejection that is handled later is removed.
const stray = new Map();
core.setUnhandledPromiseRejectionHandler((promise, reason) => {
  stray.set(promise, reason);
  return true;
});
core.setHandledPromiseRejectionHandler((promise) => {
  stray.delete(promise);
});

const { console, inspect, correctColumns, hasPrinted } = makeConsole();
const session = makeMux();
define("console", console);
define("mux", session.mux, false);
for (const [name, value] of Object.entries(web.globals)) define(name, value);

const { isArray } = Array;
const isPromise = (value) => value instanceof Promise;

// The facts about the program's value, and the maximum length of a result.
let isImplicit = false;
let hasReturn = false;
let maxResult = 0;

// A list of promises as the last expression, such as that of `list.map(async ...)`, is awaited: the program cannot mean
// anything else.
const settled = (value) => (isImplicit && isArray(value) && value.some(isPromise) ? Promise.all(value) : value);

// The result as JSON. A program that does not return its last expression did not ask for its value, so a value that
// cannot be a result is not an error.
const resultText = (value) => {
  if (!isImplicit) return toJson(value, "result");
  let text;
  try {
    text = toJson(value, "value of the last expression");
  } catch (error) {
    warn(`${error.message}: the result is null; \`return\` what you need`);
    return "null";
  }
  if (text.length <= maxResult) return text;
  warn(`the value of the last expression is too long for a result: \`return\` what you need`);
  return "null";
};

// Globals that are removed: shared memory, compilers, and the handles of the runtime and of the host.
const FOREIGN = ["__muxHost", "Deno", "__bootstrap", "WebAssembly", "SharedArrayBuffer", "Atomics", "eval", "gc"];

// Engines that disable `Function` may leave its relatives enabled, which are not globals: the constructors of async
// functions and generators.
const disarm = (relative) => {
  const prototype = Object.getPrototypeOf(relative);
  const { name } = prototype.constructor;
  try {
    prototype.constructor("");
  } catch {
    return;
  }
  const refuse = () => {
    throw new EvalError("Code generation from strings disallowed for this context");
  };
  Object.defineProperty(refuse, "name", { value: name });
  Object.defineProperty(prototype, "constructor", { value: refuse, configurable: true });
};
for (const relative of [async () => {}, function* () {}, async function* () {}]) disarm(relative);

const { warn } = console;
const { stringify } = JSON;
const AnyError = Error;

/** The fault for a thrown value that is not an error and has no stack. */
const faultOfValue = (value) =>
  stringify({
    kind: "runtime",
    message: `uncaught: ${inspect(value)}`,
    hint: "throw new Error(\u2026), which remembers where it was thrown",
    recoverable: true,
  });

// `seal` removes this object from the global object before any guest code runs. The host calls only this object.
globalThis.__muxHost = Object.freeze({
  /** Removes what the guest must not have. Called after this script: the runtime needs its handles until then. */
  seal() {
    for (const name of FOREIGN) delete globalThis[name];
  },
  /** Passes the isolate its input and the names of the servers and tools, both as JSON text. */
  prepare(input, names, limits) {
    session.prepare(input, names, limits.maxArgument);
    web.startClock();
    web.limitTimers(limits.maxTimers);
    correctColumns(limits.startColumn, limits.shift);
    ({ isImplicit, hasReturn, maxResult } = limits);
  },
  /** Calls the compiled program; the promise is fulfilled with the result as JSON text. */
  async start(program) {
    try {
      const value = await settled(await program());
      if (value === undefined && !hasReturn && !session.hasCalled() && !hasPrinted()) {
        warn("the program returned nothing and called no tool: `return` the result");
      }
      return resultText(value);
    } finally {
      op_mux_ended();
    }
  },
  /** Called after a result, when the event loop has reported every rejection: warns about unhandled ones. */
  finish(untold) {
    if (untold) return warn("many promises were rejected and never awaited");
    if (stray.size === 0) return;
    const [first] = stray.values();
    const many = stray.size === 1 ? "a promise was" : `${stray.size} promises were`;
    warn(`${many} rejected and never awaited: ${inspect(first)}`);
  },
  /** The fault of a thrown value, as JSON text, or null for an error that is not ours. */
  faultOf: (thrown) => (thrown instanceof AnyError ? faultOf(thrown) : faultOfValue(thrown)),
});
