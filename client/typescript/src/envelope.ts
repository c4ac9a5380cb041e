// The envelope of tarpc around each message: requests and cancellations go out, responses come back.
//
// Invariant: trace ids are zeros, because tarpc's are numbers that JavaScript cannot hold.

import type { Fault, Methods } from "./messages.js";

export type Method = keyof Methods;

const TRACE = {
  trace_id: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  span_id: 0,
  sampling_decision: "Unsampled",
} as const;

/** What the daemon says to one request. */
export interface Response {
  request_id: number;
  message: { Ok: Record<string, { Ok: unknown } | { Err: Fault }> } | { Err: { kind: number; detail: string } };
}

/** `start_run` is `StartRun` on the wire. */
export function spelled(method: Method): string {
  return method.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function request<M extends Method>(id: number, method: M, params: Methods[M]["params"], ms: number): string {
  const deadline = { secs: Math.floor(ms / 1000), nanos: Math.floor(ms % 1000) * 1_000_000 };
  const message = { [spelled(method)]: params };
  return JSON.stringify({ Request: { context: { deadline, trace_context: TRACE }, id, message } });
}

/** The daemon stops working on the request, and gives no answer to it. */
export function cancel(id: number): string {
  return JSON.stringify({ Cancel: { trace_context: TRACE, request_id: id } });
}
