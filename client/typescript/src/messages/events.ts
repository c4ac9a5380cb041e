// What happens in a run, and how it ends.

import type { Fault } from "../error.js";
import type { ApprovalAsked, ApprovalOver } from "./approvals.js";
import type { Handle, Held } from "./held.js";

export interface Event {
  /** Counts up from 1 within a run. */
  seq: number;
  /** Milliseconds since the run was accepted. */
  at_ms: number;
  event: EventKind;
}

export type EventKind =
  /** The result of the check before the program starts, if there are warnings, or why its types were not checked. */
  | { checked: { warnings?: Fault[]; unchecked?: string } }
  /** The program has an isolate and starts. */
  | { started: Record<string, never> }
  /** A server that this run needs is being started. */
  | { server_starting: { server: string } }
  /** That server is ready. */
  | { server_ready: { server: string; ms: number } }
  | { call_started: { call: number; path: string } }
  /** The server reports the progress of a call. */
  | { call_progress: { call: number; path: string; progress: number; total?: number; message?: string } }
  | {
      call_ended: {
        call: number;
        path: string;
        ms: number;
        /** The length of the result's JSON text, in bytes. */
        bytes: number;
        error?: Fault;
      };
    }
  /**
   * A step of a step program starts; its call has events of its own. Events of steps are sent to clients with the
   * feature `program`, and as console lines to others.
   */
  | { step_started: { step: string; tool: string; description?: string } }
  | {
      step_ended: {
        step: string;
        tool: string;
        ms: number;
        /** The length of the step's result as JSON text, in bytes. */
        bytes: number;
        error?: Fault;
      };
    }
  /** A step is skipped because of another step. */
  | { step_skipped: { step: string; tool: string; reason: string } }
  | { console: { level: Level; text: string } }
  /** An image, audio or resource that the program emits besides its result, as a content block of MCP. */
  | { emitted: { part: Held } }
  /** The run resumes this one: so many of its calls had ended, and are not sent again. */
  | { resumed: { run: string; calls: number } }
  /** A call waits for approval, and the clocks of the run are paused. */
  | { approval_asked: ApprovalAsked }
  /** The approval was answered, or timed out. */
  | { approval_over: ApprovalOver }
  /** The requested recording, as JSON text that is read with `read`. Comes right before the end. */
  | { recorded: { recording: Handle } }
  /** The last event of every run. */
  | { ended: { outcome: Outcome } };

export type Level = "debug" | "log" | "info" | "warn" | "error";

/** How a run ended. */
export type Outcome =
  | { result: unknown }
  /** A result that is too long for a message; it is read with `read`. */
  | { stored: Handle }
  | { error: Fault };
