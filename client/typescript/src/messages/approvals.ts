// Calls that wait for somebody's approval: listed, decided, remembered; and the runs that they keep.

/** What to list. */
export interface ApprovalsRequest {
  /** Only this one, with all of its arguments. */
  approval?: string;
  /** What is always allowed, in place of what waits. */
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
  /** `A7`. No other call ever has it. */
  approval: string;
  state: ApprovalState;
  /** `server.tool` */
  path: string;
  /** What would be sent; absent if it is too long for a list. */
  arguments?: unknown;
  /** The beginning of their JSON text, if they are absent. */
  preview?: string;
  /** Length of their JSON text. */
  bytes: number;
  /** The program that asks, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** Absent for a call outside of runs. */
  run?: string;
  /** The rule of the policy because of which somebody is asked, and its reason. */
  rule: string;
  reason?: string;
  /** Names the tool as it is now, with the rule: `session` and `always` cover calls that have the same. */
  cover?: string;
  /** Milliseconds since the Unix epoch. */
  since_ms: number;
  /** Milliseconds until its program is told that nobody answered; absent if it was told. */
  left_ms?: number;
}

export type ApprovalState =
  /** Its program waits. */
  | "waiting"
  /** Its program was told that nobody answered; `resume_run` goes on. */
  | "pending"
  /** Approved since; `resume_run` goes on. */
  | "approved"
  /** Denied since. */
  | "denied";

/** What somebody says of a call. */
export interface DecideRequest {
  approval: string;
  decision: Decision;
  /** For the program, if it is denied. */
  reason?: string;
  /**
   * Other approvals that the user was shown. `session` and `always` answer those of them that they cover; a call that
   * waits and is not named here waits on.
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
  /** Its program waited and goes on; otherwise `resume_run` does. */
  live: boolean;
  /** Calls named in `shown` that are approved with it. */
  released: number;
  /** Approvals that the decision would cover, but that the user was not shown: they still wait. */
  unshown?: string[];
  /** Why it holds for this once only. */
  warning?: string;
}

/** What is always allowed. */
export interface GrantInfo {
  grant: string;
  path: string;
  /** Calls of this agent; absent: calls of clients that name none. */
  agent?: string;
  /** Asked because of this rule; another one asks again. */
  rule: string;
  /** Of the tool and of how its server is reached: when either changes, somebody is asked again. */
  digest: string;
  since_ms: number;
}

/** Which run goes on. */
export interface ResumeRequest {
  /** A run, or an approval. */
  id: string;
  /** The run does not end with this connection. */
  detach?: boolean;
}

export interface Resumed {
  /**
   * To be followed with `events`. The one that was named, if it has not ended or has nothing to go on with;
   * otherwise a new one.
   */
  run: string;
  /** It begins anew, and calls that had ended are answered from the record. */
  replayed?: boolean;
}

/** What a client is told of a call that somebody has to approve. */
export interface ApprovalAsked {
  approval: string;
  path: string;
  /** JSON text, or the beginning of it. */
  arguments: string;
  /** Its length. */
  bytes: number;
  rule: string;
  reason?: string;
  /** As in `ApprovalInfo`. */
  cover?: string;
  /** Milliseconds until the program is told that nobody answered. */
  wait_ms: number;
}

/** What became of it. */
export interface ApprovalOver {
  approval: string;
  path: string;
  ending: ApprovalEnding;
}

export type ApprovalEnding =
  | "approved"
  | "denied"
  /** Nobody answered in time. */
  | "pending";
