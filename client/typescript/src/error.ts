// One shape of failure everywhere, as `proto/src/error.rs` has it.
//
// Invariant: a kind that this build does not know is passed on as it came.

/** What kind of failure, in one word. A newer daemon may have others. */
export type Kind =
  | "syntax"
  | "type"
  | "runtime"
  | "tool"
  | "validation"
  | "not_found"
  | "timeout"
  | "memory"
  | "limit"
  | "busy"
  | "deadlock"
  | "cancelled"
  | "denied"
  | "pending"
  | "auth_required"
  | "unavailable"
  | "unknown_outcome"
  | "internal"
  | (string & {});

/** A failure that a person or a program can act on, as it stands in messages. */
export interface Fault {
  kind: Kind;
  /** What happened, with the values that matter. */
  message: string;
  /** What to do about it. */
  hint?: string;
  /** The hint for an agent, in place of `hint`: it names tools where `hint` names commands. */
  agent_hint?: string;
  /** The line in the user's source, counted from 1. */
  line?: number;
  /** The column, counted from 1 in UTF-16 code units. */
  column?: number;
  /** The `server.tool` that failed, if any. */
  path?: string;
  /** Whether other code or other arguments can succeed. */
  recoverable: boolean;
  /** Data for programs, such as a tool's own content. */
  details?: unknown;
}

/** The same, thrown. */
export class MuxError extends Error {
  override readonly name = "MuxError";
  readonly kind: Kind;
  readonly hint: string | undefined;
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly path: string | undefined;
  readonly recoverable: boolean;
  readonly details: unknown;

  constructor(fault: Fault) {
    super(fault.message);
    this.kind = fault.kind;
    this.hint = fault.hint;
    this.line = fault.line;
    this.column = fault.column;
    this.path = fault.path;
    this.recoverable = fault.recoverable;
    this.details = fault.details;
  }

  /** A failure that was found on this side of the socket. */
  static of(kind: Kind, message: string, hint?: string): MuxError {
    return new MuxError({ kind, message, recoverable: false, ...(hint === undefined ? {} : { hint }) });
  }

  /** As it stands in messages. */
  toJSON(): Fault {
    const fault: Fault = { kind: this.kind, message: this.message, recoverable: this.recoverable };
    if (this.hint !== undefined) fault.hint = this.hint;
    if (this.line !== undefined) fault.line = this.line;
    if (this.column !== undefined) fault.column = this.column;
    if (this.path !== undefined) fault.path = this.path;
    if (this.details !== undefined) fault.details = this.details;
    return fault;
  }
}

/** Whether a daemon refused this because it was ending: nothing has happened, and the next one can be asked. */
export function isEnding(error: unknown): boolean {
  if (!(error instanceof MuxError) || error.kind !== "unavailable") return false;
  const details = error.details;
  return typeof details === "object" && details !== null && (details as { ending?: unknown }).ending === true;
}

/** The connection went away before a request was sent, or while it was on its way. */
export class Lost extends MuxError {
  readonly sent: boolean;

  constructor(sent: boolean, why: string) {
    super(
      sent
        ? {
            kind: "unknown_outcome",
            message: `the connection to muxd was lost: ${why}`,
            hint: "calls in flight may have been executed; check before you run it again",
            recoverable: false,
          }
        : { kind: "unavailable", message: `nothing was sent to muxd: ${why}`, recoverable: false },
    );
    this.sent = sent;
  }
}

/** What a caller is told when its signal was aborted. */
export function cancelled(what: string): MuxError {
  return MuxError.of("cancelled", `${what} was cancelled`);
}
