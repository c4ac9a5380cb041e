// Failures as exceptions, and those that arise on this side of the socket.
//
// Invariant: a kind that this build does not know is passed on as it came.

import type { Fault, Kind } from "./messages.js";

/** A `Fault`, thrown. */
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
