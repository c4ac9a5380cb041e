// What a client is told, and asked, without having asked: notices, read by long poll.

import type { ApprovalAsked, ApprovalOver } from "./approvals.js";

/**
 * Waits for what this connection has not heard yet. The first such request says what it wants to hear; before
 * it, nothing is kept for the connection and nothing is asked of it.
 */
export interface NoticesRequest {
  /** The number of the last notice that the client has; 0 for none. Those are forgotten. */
  after: number;
  wait_ms: number;
  /** What this client can answer for its user. Anything else is declined in its name. */
  answers?: AskKind[];
}

export interface NoticePage {
  notices: Notice[];
}

export interface Notice {
  /**
   * Counts up from 1 within a connection. A gap means that the client was too slow, and that what it missed
   * was no question.
   */
  seq: number;
  notice: NoticeKind;
}

export type NoticeKind =
  /** The pool offers something else than before. */
  | { changed: { tools: boolean; resources: boolean; prompts: boolean } }
  /** A resource to which this connection subscribed. */
  | { resource_updated: { server: string; uri: string } }
  /** A call that carries a token moves on. Of a call in a run its events tell. */
  | { progress: { cause: Cause; progress: number; total?: number; message?: string } }
  /** A server logs something while this connection alone has calls on their way to it. */
  | {
      log: {
        server: string;
        /** As MCP has them: `debug` to `emergency`. */
        level: string;
        logger?: string;
        data: unknown;
        cause: Cause;
      };
    }
  /**
   * A server wants to know something of the client whose call made it ask. To be answered with `answer`, or
   * the call waits until the limit of the question is over. Whoever shows it to a user has to say first which server
   * asks: its words may claim to be anybody's.
   */
  | {
      ask: {
        ask: number;
        /** The server that asks; `mux` if muxd does. */
        server: string;
        /** It is muxd's own question, and no server's, whatever a server is called. */
        own?: boolean;
        cause: Cause;
        kind: AskKind;
        /** The server's own name for the question, if the question came with the answer to a call. */
        key?: string;
        /** `params` of MCP's `elicitation/create`, `sampling/createMessage` or `roots/list`. */
        params: unknown;
      };
    }
  /** Nobody waits for the answer any more. */
  | { withdrawn: { ask: number } }
  /** What the user of this connection was asked to do on a page is done. */
  | {
      elicitation_complete: {
        server: string;
        /** `elicitationId` of the question. */
        id: string;
        cause: Cause;
      };
    }
  /** A call of this connection waits for somebody's approval. Of one in a run its events tell, too. */
  | { approval_asked: { cause: Cause } & ApprovalAsked }
  /**
   * Another daemon has taken over from this one: whoever is not busy here connects anew, which leads there. Told to
   * clients that list `upgrade` only.
   */
  | { leaving: Record<string, never> }
  /** It waits no more. */
  | { approval_over: { cause: Cause } & ApprovalOver };

/** What of this connection made something happen. */
export type Cause =
  | { run: string }
  /** The token of a call, or an empty text if it carried none. */
  | { call: string };

export type AskKind =
  | "elicitation"
  | "sampling"
  | "roots"
  /**
   * A call of this connection is to be approved: `params` is an `ApprovalAsked`, and the answer `{"decision":
   * …, "reason"?: …, "shown"?: […]}` as `DecideRequest` has it.
   */
  | "approval";

export interface AnswerRequest {
  ask: number;
  answer: Answer;
}

export type Answer =
  /** The result as MCP has it. */
  | { result: unknown }
  /** It cannot be answered; why. */
  | { refused: string };
