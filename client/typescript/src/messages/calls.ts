// One tool call, and what is wrong with a program.

import type { Fault } from "../error.js";

export interface CallRequest {
  /** `server.tool`. */
  path: string;
  /** An object. */
  arguments?: unknown;
  /**
   * Arguments that somebody typed: names with text, which the daemon reads as the tool's schema wants it. A
   * name may stand there several times where a list is wanted.
   */
  typed?: [string, string][];
  /** The whole `CallToolResult` instead of its value. */
  raw?: boolean;
  /**
   * If the whole result is too long for a message, it is kept without content that says again what its structured
   * content says.
   */
  lean?: boolean;
  timeout_ms?: number;
  /** The client's own name for this call, under which notices speak of it. */
  token?: string;
  /** As that of a run. */
  traceparent?: string;
  tracestate?: string;
}

export interface CheckRequest {
  source: string;
}

/** Everything that is wrong with a program; empty if nothing is. */
export interface Diagnostics {
  /** Any of them keeps it from running. */
  errors: Fault[];
  /** What may be a mistake, and may not. */
  warnings: Fault[];
  /** Why its types were not looked at, if they were not. */
  unchecked?: string;
}
