// Entry of the guest's world: builds every global that a program sees and hands the host what it
// needs to run one. It is evaluated once for each isolate, before any guest code, or once for a snapshot
// from which many are built: nothing random and no time of day may be kept in it.
//
// Invariant: guest code never holds a reference to `Deno`, to an op, or to anything from which one
// can be reached; what the bridge uses is captured here before the guest can replace it.

import { core } from "ext:core/mod.js";
import { op_mux_ended } from "ext:core/ops";
import { makeConsole } from "ext:mux/console.js";
import { toJson } from "ext:mux/json.js";
import { faultOf, makeMux } from "ext:mux/mux.js";
import * as web from "ext:mux/web.js";

const define = (name, value, writable = true) =>
  Object.defineProperty(globalThis, name, { value, writable, configurable: writable, enumerable: false });

// Rejections that nobody has handled so far; one that is awaited later leaves the list again.
const stray = new Map();
core.setUnhandledPromiseRejectionHandler((promise, reason) => {
  stray.set(promise, reason);
  return true;
});
core.setHandledPromiseRejectionHandler((promise) => {
  stray.delete(promise);
});

const { console, inspect, startColumn } = makeConsole();
const session = makeMux();
define("console", console);
define("mux", session.mux, false);
for (const [name, value] of Object.entries(web.globals)) define(name, value);

// Not the guest's: shared memory, compilers and the runtime's own handles.
const FOREIGN = ["Deno", "__bootstrap", "WebAssembly", "SharedArrayBuffer", "Atomics", "eval", "gc"];

// Engines that switch off `Function` may forget its relatives, which have no name of their own.
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

const { warn } = console;
const { stringify } = JSON;
const AnyError = Error;

/** Something was thrown that is no error and knows no place. */
const faultOfValue = (value) =>
  stringify({
    kind: "runtime",
    message: `uncaught: ${inspect(value)}`,
    hint: "throw new Error(\u2026), which remembers where it was thrown",
    recoverable: true,
  });

// The host takes this object off the global before any guest code runs, and calls nothing else.
globalThis.__muxHost = Object.freeze({
  /** Takes away what is not the guest's. Not in here: the runtime needs its handles until it stands. */
  seal() {
    for (const name of FOREIGN) delete globalThis[name];
    for (const relative of [async () => {}, function* () {}, async function* () {}]) disarm(relative);
  },
  /** Gives the isolate its input and the names of the servers and tools, both JSON text. */
  prepare(input, names, limits) {
    session.prepare(input, names, limits.maxArgument);
    web.startClock();
    web.limitTimers(limits.maxTimers);
    startColumn(limits.startColumn);
  },
  /** Calls the compiled program; the promise is fulfilled with the result as JSON text. */
  async start(program) {
    try {
      return toJson(await program(), "result");
    } finally {
      op_mux_ended();
    }
  },
  /** Comes after a result, when the event loop has told of every rejection: a word about the rest. */
  finish(untold) {
    if (untold) return warn("many promises were rejected and never awaited");
    if (stray.size === 0) return;
    const [first] = stray.values();
    const many = stray.size === 1 ? "a promise was" : `${stray.size} promises were`;
    warn(`${many} rejected and never awaited: ${inspect(first)}`);
  },
  /** The fault behind what was thrown, as JSON text, or null for an error that is not ours. */
  faultOf: (thrown) => (thrown instanceof AnyError ? faultOf(thrown) : faultOfValue(thrown)),
});
