// Runs: what is asked for, and which there are.

import type { Fault } from "../error.js";
import type { Event } from "./events.js";

export interface RunRequest {
  /** TypeScript or JavaScript, if `language` does not say otherwise. */
  source: string;
  language?: Language;
  /** `mux.input`. */
  input?: unknown;
  /** Wall time, 1,000 to 300,000; the daemon's default if absent. */
  timeout_ms?: number;
  /**
   * W3C trace context of the caller. What cannot be read is dropped; the calls of the run stand in this trace,
   * and their servers are told so.
   */
  traceparent?: string;
  /** What belongs to it, as W3C has it. */
  tracestate?: string;
  /**
   * The run goes on when this connection ends, and keeps an idle daemon from leaving. A daemon that is told
   * to stop waits for it as for every other, and then cancels it.
   */
  detach?: boolean;
  /** Whatever the configuration says, the types of the program are not looked at. */
  no_check?: boolean;
  /** All that the program asks for and is told is kept, and handed over by the event `recorded`. */
  record?: boolean;
  /**
   * A recording: its program is run in place of `source`, is answered from it, and nothing is sent to any
   * server. Its source, language, input and timeout are those of the recording.
   */
  replay?: unknown;
}

export interface RunStarted {
  run: string;
}

export interface EventsRequest {
  run: string;
  /** The number of the last event that the client has; 0 for none. */
  after: number;
  wait_ms: number;
}

/** Events in order, without gaps. */
export interface EventPage {
  events: Event[];
}

/** Which runs to list. */
export interface RunsRequest {
  /** Only those that have not ended. */
  running?: boolean;
  /** The latest so many; 20 if absent. The answer may have fewer if they would not fit into a frame. */
  limit?: number;
}

/** Runs that are kept, the latest first. */
export interface RunList {
  runs: RunInfo[];
  /** How many match, whatever the limit. */
  total: number;
}

export interface RunInfo {
  run: string;
  state: RunState;
  /** The program that asked for it, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** It does not end with the connection that started it. */
  detached?: boolean;
  /** The first line of the program that says something. */
  title: string;
  /** Milliseconds since the Unix epoch. */
  accepted_ms: number;
  /** From then to its end, or to now. */
  ms: number;
  /** Tool calls that were sent so far. */
  calls: number;
  /** Those that have ended, well or not. What was on its way when the run ended never does. */
  calls_ended: number;
  /** Those that ended with an error. */
  calls_failed: number;
  /** How it failed, if it did, without details: its last event has them. */
  error?: Fault;
  /** The number of its last event. */
  events: number;
}

export type RunState =
  /** In line for a worker. */
  | "waiting"
  | "running"
  | "succeeded"
  | "failed";

/** What a program is written in. */
export type Language =
  /** Or JavaScript. */
  | "typescript"
  /** `{"steps": [{"id", "tool", "args", "on_error"}]}`. Only a daemon with the feature `program` knows it. */
  | "json";

export interface ExplainRequest {
  /** A program of steps. */
  source: string;
}

export interface Explained {
  /** The TypeScript that stands for the same. */
  source: string;
}
