// Calls that must be approved: listed, decided, always allowed; and the runs that are kept for them.

/** What to list. */
export interface ApprovalsRequest {
  /** Only this approval, with all of its arguments. */
  approval?: string;
  /** The calls that are always allowed, in place of those that wait. */
  granted?: boolean;
  /**
   * The edition that the client has: the answer waits until there is another, or until `wait_ms` have passed,
   * 30 s at most.
   */
  known?: number;
  wait_ms?: number;
}

export interface ApprovalList {
  /** Counts up with every change. */
  edition: number;
  approvals: ApprovalInfo[];
  granted: GrantInfo[];
}

/** One call that must be approved. */
export interface ApprovalInfo {
  /** `A7`, which is never reused. */
  approval: string;
  state: ApprovalState;
  /** `server.tool` */
  path: string;
  /** The arguments of the call; absent if they are too long for a list. */
  arguments?: unknown;
  /** The beginning of the arguments' JSON text, if they are absent. */
  preview?: string;
  /** The length of the arguments' JSON text, in bytes. */
  bytes: number;
  /** The client that made the call, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** Absent for a call outside of runs. */
  run?: string;
  /** The rule that requires the approval, and its reason. */
  rule: string;
  reason?: string;
  /** Identifies the tool as it is now, with the rule: `session` and `always` cover calls with the same value. */
  cover?: string;
  /** Milliseconds since the Unix epoch. */
  since_ms: number;
  /** Milliseconds until the call fails as `pending`; absent if it has. */
  left_ms?: number;
}

export type ApprovalState =
  /** The call waits for an answer. */
  | "waiting"
  /** The call failed as `pending`; `resume_run` continues the run. */
  | "pending"
  /** Approved after it failed as `pending`; `resume_run` continues the run. */
  | "approved"
  /** Denied after it failed as `pending`. */
  | "denied";

/** A user's answer to an approval. */
export interface DecideRequest {
  approval: string;
  decision: Decision;
  /** The reason of a denial, for the program. */
  reason?: string;
  /**
   * Other approvals that the user was shown. `session` and `always` also answer those of them that they cover; an
   * approval that waits and is not named here continues to wait.
   */
  shown?: string[];
}

export type Decision =
  /** This call, with these arguments. */
  | "once"
  /** This call, and later calls of this tool by this client, until its connection ends. */
  | "session"
  /** This call, and later calls of this tool as it is now, for this agent, until it is revoked. */
  | "always"
  | "deny";

export interface Decided {
  approval: ApprovalInfo;
  /** Whether the call was still waiting and continues; otherwise `resume_run` continues the run. */
  live: boolean;
  /** The number of calls named in `shown` that are approved with it. */
  released: number;
  /** Approvals that the decision would cover, but that the user was not shown: they continue to wait. */
  unshown?: string[];
  /** Why the decision applies to less than was requested, as a sentence. */
  warning?: string;
}

/** A grant: calls that are always allowed. */
export interface GrantInfo {
  grant: string;
  path: string;
  /** Calls of this agent; absent: calls of clients that name none. */
  agent?: string;
  /** The rule that required the approval; another rule asks again. */
  rule: string;
  /** The digest of the tool and of its server's address or command: when either changes, the user is asked again. */
  digest: string;
  since_ms: number;
}

/** Which run to resume. */
export interface ResumeRequest {
  /** A run, or an approval. For a call that failed as `pending`, `details.resume`. */
  id: string;
  /** The run does not end with this connection. */
  detach?: boolean;
}

export interface Resumed {
  /**
   * The run to follow with `events`: the one that was named, if it has not ended or cannot be resumed; otherwise a new
   * one.
   */
  run: string;
  /** Whether the program starts again, with calls that had ended answered from the record. */
  replayed?: boolean;
}

/** A call that must be approved. */
export interface ApprovalAsked {
  approval: string;
  path: string;
  /** The arguments' JSON text, or the beginning of it. */
  arguments: string;
  /** The length of the arguments' JSON text, in bytes. */
  bytes: number;
  rule: string;
  reason?: string;
  /** As in `ApprovalInfo`. */
  cover?: string;
  /** Milliseconds until the call fails as `pending`. */
  wait_ms: number;
}

/** The outcome of an approval. */
export interface ApprovalOver {
  approval: string;
  path: string;
  ending: ApprovalEnding;
}

export type ApprovalEnding =
  | "approved"
  | "denied"
  /** There was no answer in time. */
  | "pending";
