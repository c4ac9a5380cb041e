// Runs: their requests and lists.

import type { Fault } from "../error.js";
import type { Event } from "./events.js";

export interface RunRequest {
  /** The program; TypeScript or JavaScript unless `language` differs. */
  source: string;
  language?: Language;
  /**
   * What lists of runs call it, such as the name of the program's file; the daemon shortens it to one line. If absent or
   * empty, the first significant line of the program.
   */
  name?: string;
  /** `mux.input`. */
  input?: unknown;
  /** The limit of wall time, 1,000 to 300,000; the daemon's default if absent. */
  timeout_ms?: number;
  /**
   * The W3C trace context of the caller. It is ignored if it cannot be parsed; otherwise the calls of the run join this
   * trace, which is passed on to their servers.
   */
  traceparent?: string;
  /** The W3C `tracestate` of the caller. */
  tracestate?: string;
  /**
   * Whether the run continues when this connection ends, and keeps an idle daemon alive. A daemon that is stopped waits
   * for it as for every other run, and then cancels it.
   */
  detach?: boolean;
  /** Whether to skip the type check, whatever the configuration says. */
  no_check?: boolean;
  /** Whether to record the program's input and calls, which the event `recorded` then returns. */
  record?: boolean;
  /**
   * A recording to replay: its program is run in place of `source`, its calls are answered from the recording, and
   * nothing is sent to any server. Source, language, input and timeout are those of the recording.
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
  /** Whether to list only runs that have not ended. */
  running?: boolean;
  /** The maximum number of runs, the latest first; 20 if absent. There may be fewer if they do not fit into a frame. */
  limit?: number;
}

/** Runs, the latest first. */
export interface RunList {
  runs: RunInfo[];
  /** The number of matching runs, whatever the limit. */
  total: number;
}

export interface RunInfo {
  run: string;
  state: RunState;
  /** The client that started the run, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** Whether the run continues when its connection ends. */
  detached?: boolean;
  /** The name that the run was started with, or the first significant line of the program. */
  title: string;
  /** When the run was accepted, in milliseconds since the Unix epoch. */
  accepted_ms: number;
  /** Milliseconds from then to the run's end, or to now. */
  ms: number;
  /** The number of tool calls so far. */
  calls: number;
  /** The number of calls that have ended, successfully or not. Calls in flight at the run's end are not counted. */
  calls_ended: number;
  /** The number of calls that ended with an error. */
  calls_failed: number;
  /** The number of calls that wait for an approval now; absent if none does. */
  approvals?: number;
  /** The error of a failed run, without its details: the last event has them. */
  error?: Fault;
  /** The number of the run's last event. */
  events: number;
}

export type RunState =
  /** The run waits for a worker. */
  | "waiting"
  | "running"
  | "succeeded"
  | "failed";

/** The language of a program. */
export type Language =
  /** TypeScript or JavaScript. */
  | "typescript"
  /**
   * A step program, `{"steps": [{"id", "tool", "args", "on_error"}]}`. Only a daemon with the feature `program`
   * supports it.
   */
  | "json";

export interface ExplainRequest {
  /** The text of a step program. */
  source: string;
}

export interface Explained {
  /** The equivalent TypeScript. */
  source: string;
}
