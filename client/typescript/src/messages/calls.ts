// One tool call, and the problems of a program.

import type { Fault } from "../error.js";

export interface CallRequest {
  /** `server.tool`. */
  path: string;
  /** An object. */
  arguments?: unknown;
  /**
   * Arguments as typed on a command line: names with text, which the daemon converts as the tool's schema requires. A
   * name may occur several times where a list is expected.
   */
  typed?: [string, string][];
  /**
   * Whether to reject arguments that the tool's schema does not declare, as the type check of a program does. A schema
   * with `additionalProperties` declares them all.
   */
  declared_only?: boolean;
  /** Whether to return the whole `CallToolResult` instead of its value. */
  raw?: boolean;
  /**
   * If the whole result is too long for a message, it is stored without content that repeats its structured content.
   */
  lean?: boolean;
  timeout_ms?: number;
  /** The client's own name for this call, by which notices refer to it. */
  token?: string;
  /** The W3C trace context of the caller, as in `RunRequest`. */
  traceparent?: string;
  tracestate?: string;
}

export interface CheckRequest {
  source: string;
}

/** The problems of a program; empty if there are none. */
export interface Diagnostics {
  /** Errors, any of which prevents a run. */
  errors: Fault[];
  /** Possible mistakes. */
  warnings: Fault[];
  /** Why the types were not checked, if they were not. */
  unchecked?: string;
}
