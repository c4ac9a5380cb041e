// Talks to muxd: connects to the daemon that runs, or starts it.

export type { Approver, Verdict } from "./approver.js";
export { MuxError } from "./error.js";
export type { RunEvent } from "./events.js";
export type * from "./messages.js";
export { type CallOptions, Mux, type MuxOptions, type RunOptions, type Stoppable } from "./mux.js";
export { programPath } from "./names.js";
export { Run } from "./run.js";
export { CONTRACT, VERSION } from "./version.js";
export type { Watching } from "./watch.js";
