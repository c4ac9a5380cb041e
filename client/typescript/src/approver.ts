// Somebody who is asked, in this program, whether a call of this client may be made.
//
// Invariant: an answer that does not come decides nothing: others may answer with `mux approve`.

import type { Connection } from "./connection.js";
import { MuxError } from "./error.js";
import { askOn } from "./line.js";
import type { ApprovalAsked, Decision, NoticeKind } from "./messages.js";

/** A user's answer to an approval. */
export interface Verdict {
  decision: Decision;
  /** The reason of a denial, for the program. */
  reason?: string;
  /** Other approvals that somebody was shown: those of them that the decision covers are answered with it. */
  shown?: string[];
}

/** Asks somebody. The signal is aborted when the answer is not wanted any more; `undefined` leaves it to others. */
export type Approver = (asked: ApprovalAsked, signal: AbortSignal) => Promise<Verdict | undefined>;

/** How long the daemon holds a poll before it answers with nothing. */
const POLL = 25_000;

/**
 * From here on the daemon knows who may be asked on this connection. Resolves when it does. `leaving` is called when
 * another daemon has taken over from this one.
 */
export async function listen(connection: Connection, approver: Approver, leaving: () => void): Promise<void> {
  await poll(connection, 0, 0);
  void answer(connection, approver, leaving).catch((error: unknown) => {
    // The connection has ended, and with it what it was asked.
    if (!(error instanceof MuxError)) throw error;
  });
}

async function answer(connection: Connection, approver: Approver, leaving: () => void): Promise<void> {
  const open = new Map<number, AbortController>();
  try {
    for (let after = 0; ; ) {
      const page = await poll(connection, after, POLL);
      for (const { seq, notice } of page.notices) {
        after = seq;
        if ("leaving" in notice) leaving();
        else hear(connection, notice, open, approver);
      }
    }
  } finally {
    for (const question of open.values()) question.abort();
  }
}

function hear(
  connection: Connection,
  notice: NoticeKind,
  open: Map<number, AbortController>,
  approver: Approver,
): void {
  if ("withdrawn" in notice) {
    open.get(notice.withdrawn.ask)?.abort();
    open.delete(notice.withdrawn.ask);
  } else if ("ask" in notice && notice.ask.kind === "approval") {
    const { ask, params } = notice.ask;
    const question = new AbortController();
    open.set(ask, question);
    approver(params as ApprovalAsked, question.signal)
      .then(async (verdict) => {
        if (verdict === undefined || !open.delete(ask)) return;
        await askOn(connection, "answer", { request: { ask, answer: { result: verdict } } });
      })
      // What cannot be answered here can be answered elsewhere.
      .catch(() => open.delete(ask));
  }
}

function poll(connection: Connection, after: number, wait_ms: number) {
  const request = { after, wait_ms, answers: ["approval" as const] };
  return askOn(connection, "notices", { request }, { deadlineMs: 2 * POLL, background: true });
}
