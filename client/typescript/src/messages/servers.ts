// How its servers are.

import type { SourceInfo } from "./sources.js";

export interface ServerInfo {
  name: string;
  state: ServerState;
  /** Why it is in that state, where that is not obvious. */
  reason?: string;
  /** The command line, without its environment. */
  command: string;
  pid?: number;
  /** Known tools, once a session was open. */
  tools?: number;
  /** What the server calls itself, with its version. */
  identity?: string;
  protocol?: string;
  /** How long the last start took, from the process to the list of tools. */
  start_ms?: number;
  /** Sessions opened since the daemon started. */
  starts: number;
  calls: number;
  in_flight: number;
  /** `stdio`, `streamable-http` or `sse`, once it is known. */
  transport?: string;
  /** Who shares one session: `user`, `workspace`, `client` or `run`. */
  share?: string;
  /** Why, where nobody has said so in the configuration. */
  share_reason?: string;
  /** One for each that shares, where there may be several. */
  sessions?: SessionInfo[];
  /** Where the server wants its users to sign in. */
  auth?: AuthState;
  /** Until it is tried again, while it is backing off. */
  retry_in_ms?: number;
  /** What a user should look at, such as tools that are not what they were. */
  warnings?: string[];
  /** Something in its `args` looks like a secret: it is in the configuration file and in the list of processes. */
  secret_in_args?: boolean;
  /** The project whose file defines it, for a server that is not the user's own. */
  project?: string;
  /** For a source: an API that the daemon calls itself. */
  source?: SourceInfo;
}

/** One session of a server that has several. */
export interface SessionInfo {
  /** Whose it is: a directory, a client, a run. */
  of: string;
  state: ServerState;
  reason?: string;
  pid?: number;
}

export type AuthState =
  /** Nobody has signed in, or not any more: `mux servers login NAME`. */
  | "required"
  | "signed_in";

export type ServerState =
  /** Not started yet, or closed. */
  | "cold"
  | "starting"
  | "ready"
  /** It answers, and something is wrong with it. */
  | "degraded"
  /** It could not be started, and is tried again after a while. */
  | "backing_off"
  /** The last start failed; the next call tries again. */
  | "failed"
  /** The configuration of this server cannot be used. */
  | "broken"
  /** The configuration has it switched off: `mux servers enable NAME`. */
  | "disabled";
