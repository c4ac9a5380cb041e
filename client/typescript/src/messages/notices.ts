// Notices and questions that the daemon sends to a client, read by long poll.

import type { ApprovalAsked, ApprovalOver } from "./approvals.js";

/**
 * Waits for notices that this connection has not read yet. The first such request says which questions the client can
 * answer; before it, no notices are kept for the connection and it is asked nothing.
 */
export interface NoticesRequest {
  /** The number of the last notice that the client has; 0 for none. Notices up to it are dropped. */
  after: number;
  wait_ms: number;
  /**
   * The kinds of questions that this client can answer for its user. All others are declined on its behalf. An approval
   * is asked in the first of the kinds `approval` and `elicitation` (a form) that is listed.
   */
  answers?: AskKind[];
  /** Whether to send the notice `declined`, which earlier clients cannot read. */
  declined?: boolean;
}

export interface NoticePage {
  notices: Notice[];
}

export interface Notice {
  /**
   * Counts up from 1 within a connection. A gap means that the client was too slow, and that it missed notices that are
   * no questions.
   */
  seq: number;
  notice: NoticeKind;
}

export type NoticeKind =
  /** The tools, resources or prompts of the servers have changed. */
  | { changed: { tools: boolean; resources: boolean; prompts: boolean } }
  /** A resource has changed to which this connection is subscribed. */
  | { resource_updated: { server: string; uri: string } }
  /** Progress of a call with a token. That of a call in a run is among the run's events. */
  | { progress: { cause: Cause; progress: number; total?: number; message?: string } }
  /** A server's log message, sent while only this connection has calls in flight to it. */
  | {
      log: {
        server: string;
        /** The level as in MCP: `debug` to `emergency`. */
        level: string;
        logger?: string;
        data: unknown;
        cause: Cause;
      };
    }
  /**
   * A server's question to the client whose call caused it. The client answers with `answer`; otherwise the call waits
   * until the time limit of the question. A client that shows the question to a user must name the server first: its
   * text may claim to be from anyone.
   */
  | {
      ask: {
        ask: number;
        /** The server that asks; `mux` for a question of muxd itself. */
        server: string;
        /** Whether it is muxd's own question, even if a server is called `mux`. */
        own?: boolean;
        cause: Cause;
        /**
         * The path of the tool whose call made the server ask, if it is known: a server may have other requests in
         * progress.
         */
        tool?: string;
        kind: AskKind;
        /** The server's own key for the question, if it came with the answer to a call. */
        key?: string;
        /** The `params` of MCP's `elicitation/create`, `sampling/createMessage` or `roots/list`. */
        params: unknown;
      };
    }
  /** The question is no longer open. */
  | { withdrawn: { ask: number } }
  /**
   * A server's question was declined, because the client does not answer this kind. Sent only to a client whose request
   * says `declined`.
   */
  | { declined: { server: string; kind: AskKind; cause: Cause } }
  /** The user has completed the page of a URL elicitation. */
  | {
      elicitation_complete: {
        server: string;
        /** The `elicitationId` of the question. */
        id: string;
        cause: Cause;
      };
    }
  /** A call of this connection waits for approval. For a call in a run, there is also an event of the run. */
  | { approval_asked: { cause: Cause } & ApprovalAsked }
  /**
   * Another daemon has taken over from this one: a client without work in progress should reconnect, which leads it
   * there. Sent only to clients that list `upgrade`.
   */
  | { leaving: Record<string, never> }
  /** The approval was answered, or timed out. */
  | { approval_over: { cause: Cause } & ApprovalOver };

/** The run or call of this connection that caused a notice. */
export type Cause =
  | { run: string }
  /** The token of a call, or an empty text if it had none. */
  | { call: string };

export type AskKind =
  | "elicitation"
  | "sampling"
  | "roots"
  /**
   * A call of this connection must be approved: `params` is an `ApprovalAsked`, and the answer `{"decision": …,
   * "reason"?: …, "shown"?: […]}` as in `DecideRequest`.
   */
  | "approval";

export interface AnswerRequest {
  ask: number;
  answer: Answer;
}

export type Answer =
  /** The result as MCP defines it. */
  | { result: unknown }
  /** The client cannot answer, for this reason. */
  | { refused: string };
