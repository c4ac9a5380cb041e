// Entry of the guest's world: builds every global that a program sees and hands the host what it
// needs to run one. It is evaluated once for each isolate, before any guest code.
//
// Invariant: guest code never holds a reference to `Deno`, to an op, or to anything from which one
// can be reached; what the bridge uses is captured here before the guest can replace it.

import { core } from "ext:core/mod.js";
import { makeConsole } from "ext:mux/console.js";
import { toJson } from "ext:mux/json.js";
import { faultOf, makeMux } from "ext:mux/mux.js";
import * as web from "ext:mux/web.js";

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

// Rejections that nobody has handled so far; one that is awaited later leaves the list again.
const stray = new Map();
core.setUnhandledPromiseRejectionHandler((promise, reason) => {
  stray.set(promise, reason);
  return true;
});
core.setHandledPromiseRejectionHandler((promise) => {
  stray.delete(promise);
});

const { console, inspect } = makeConsole();
const session = makeMux();
define("console", console);
define("mux", session.mux);
for (const [name, value] of Object.entries(web.globals)) define(name, value);

// Not the guest's: shared memory, compilers and the runtime's own handles.
for (const name of ["Deno", "__bootstrap", "WebAssembly", "SharedArrayBuffer", "Atomics", "eval"]) {
  delete globalThis[name];
}

const warn = console.warn;

// The host takes this object off the global before any guest code runs, and calls nothing else.
globalThis.__muxHost = Object.freeze({
  /** Gives the isolate its input and the names of the servers and tools, both JSON text. */
  prepare(input, names, limits) {
    session.prepare(input, names, limits.maxArgument);
    web.limitTimers(limits.maxTimers);
  },
  /** Calls the compiled program; the promise is fulfilled with the result as JSON text. */
  async start(program) {
    const value = await program();
    const text = toJson(value, "result");
    // A turn of the event loop, so that a rejection which was handled late is taken off the list.
    if (stray.size > 0) await new Promise((resolve) => core.createTimer(resolve, 1, undefined, false, true, true));
    if (stray.size > 0) {
      const [first] = stray.values();
      warn(`${stray.size} rejected promise(s) were never awaited; the first: ${inspect(first)}`);
    }
    return text;
  },
  /** The fault behind an error that the bridge threw, as JSON text, or null for any other error. */
  faultOf,
});
