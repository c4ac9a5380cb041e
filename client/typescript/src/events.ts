// Events of a run as a program takes them: one object each, told apart by `type`.
//
// Invariant: what stands in a message is here under the same name, and an event that this build does not know is
// passed on.

import type { Event, EventKind } from "./messages.js";

type Members<U> = U extends unknown ? { [K in keyof U]: { type: K } & U[K] }[keyof U] : never;

/** One event, such as `{ seq: 4, at_ms: 12, type: "call_started", call: 1, path: "files.read" }`. */
export type RunEvent = { seq: number; at_ms: number } & Members<EventKind>;

export function flat(event: Event): RunEvent {
  const [type, members] = Object.entries(event.event)[0] ?? ["unknown", {}];
  return { seq: event.seq, at_ms: event.at_ms, type, ...(members as object) } as RunEvent;
}
