// What changes, asked for again as soon as it has changed.
//
// Invariant: what is given differs from what was given before it, and the first answer comes at once.

import type { Connection } from "./connection.js";
import { type Line, askOn } from "./line.js";
import type { ApprovalInfo } from "./messages.js";

export interface Watching {
  /** Aborting it makes the iteration end with `cancelled`. */
  signal?: AbortSignal | undefined;
  /** If false, no daemon is started to be watched: without one the iteration ends with `unavailable`. */
  spawn?: boolean;
}

/** How long the daemon holds a poll before it answers with nothing. */
const POLL = 25_000;

export async function* watchTypes(
  line: Line,
  { signal, spawn = true }: Watching,
): AsyncGenerator<{ name: string; text: string }, void> {
  let known: string | undefined;
  for (;;) {
    const request = { wait_ms: POLL, ...(known === undefined ? {} : { known }) };
    const page = await line.with(
      (connection) => askOn(connection, "watch_types", { request }, { signal, deadlineMs: 2 * POLL }),
      { harmless: true, spawn },
    );
    known = page.name;
    if (page.text !== undefined) yield { name: page.name, text: page.text };
  }
}

export async function* watchApprovals(
  line: Line,
  { signal, spawn = true }: Watching,
): AsyncGenerator<ApprovalInfo[], void> {
  let known: number | undefined;
  let of: Connection | undefined;
  for (;;) {
    const list = await line.with(
      (connection) => {
        // Each daemon counts its editions from the beginning.
        if (connection !== of) known = undefined;
        of = connection;
        const request = known === undefined ? {} : { known, wait_ms: POLL };
        return askOn(connection, "approvals", { request }, { signal, deadlineMs: 2 * POLL });
      },
      { harmless: true, spawn },
    );
    if (list.edition !== known) yield list.approvals;
    known = list.edition;
  }
}
