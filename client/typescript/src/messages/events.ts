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
  /** What was found in the program before it began, if anything was, or why its types were not looked at. */
  | { checked: { warnings?: Fault[]; unchecked?: string } }
  /** The program has an isolate and begins. */
  | { started: Record<string, never> }
  /** A server that this run needs is being started. */
  | { server_starting: { server: string } }
  /** That server is ready. */
  | { server_ready: { server: string; ms: number } }
  | { call_started: { call: number; path: string } }
  /** The server tells how far a call is. */
  | { call_progress: { call: number; path: string; progress: number; total?: number; message?: string } }
  | {
      call_ended: {
        call: number;
        path: string;
        ms: number;
        /** Size of the JSON that the program got. */
        bytes: number;
        error?: Fault;
      };
    }
  /**
   * A step of a JSON program begins; its call has events of its own. Those of steps are sent to clients with
   * the feature `program`, and as lines of the console to others.
   */
  | { step_started: { step: string; tool: string; description?: string } }
  | {
      step_ended: {
        step: string;
        tool: string;
        ms: number;
        /** Size of its result as JSON. */
        bytes: number;
        error?: Fault;
      };
    }
  /** It never begins, because of another step. */
  | { step_skipped: { step: string; tool: string; reason: string } }
  | { console: { level: Level; text: string } }
  /**
   * An image, audio or resource that the program hands over beside its result, as MCP's content blocks have
   * it.
   */
  | { emitted: { part: Held } }
  /** The run goes on with what this one began: so many of its calls had ended, and are not sent again. */
  | { resumed: { run: string; calls: number } }
  /** A call waits for somebody's approval, and the clocks of the run stand still. */
  | { approval_asked: ApprovalAsked }
  /** It waits no more. */
  | { approval_over: ApprovalOver }
  /** The recording that was asked for, as JSON text that is read with `read`. Comes right before the end. */
  | { recorded: { recording: Handle } }
  /** The last event of every run. */
  | { ended: { outcome: Outcome } };

export type Level = "debug" | "log" | "info" | "warn" | "error";

/** How a run ended. */
export type Outcome =
  | { result: unknown }
  /** A result that is too long to stand in a message; it is read with `read`. */
  | { stored: Handle }
  | { error: Fault };
