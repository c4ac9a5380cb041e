// The state of the servers.

import type { SourceInfo } from "./sources.js";

export interface ServerInfo {
  name: string;
  state: ServerState;
  /** Why the server is in that state, where that is not obvious. */
  reason?: string;
  /** More about the reason, for those who ask for it: the directories in which a missing program was searched. */
  detail?: string;
  /** What the reason is about, where the remedy depends on it. */
  cause?: ServerCause;
  /** Whether it has written a log: `mux servers logs NAME`. */
  has_log?: boolean;
  /** The command line, without its environment. */
  command: string;
  pid?: number;
  /** The number of known tools, once a session was open. */
  tools?: number;
  /** The server's name and version as it reports them. */
  identity?: string;
  protocol?: string;
  /** The duration of the last start, from the process to the list of tools. */
  start_ms?: number;
  /** The number of sessions opened since the daemon started. */
  starts: number;
  calls: number;
  in_flight: number;
  /** `stdio`, `streamable-http` or `sse`, once known. */
  transport?: string;
  /** What shares one session: `user`, `workspace`, `client` or `run`. */
  share?: string;
  /** Why sessions are shared that way, if the configuration does not say. */
  share_reason?: string;
  /** The sessions, for a server that may have several. */
  sessions?: SessionInfo[];
  /** The state of the login, if the server requires one. */
  auth?: AuthState;
  /** Milliseconds until the next attempt, while the server is backing off. */
  retry_in_ms?: number;
  /** Warnings for the user, such as tools that have changed. */
  warnings?: string[];
  /** Something in its `args` looks like a secret: it is in the configuration file and in the list of processes. */
  secret_in_args?: boolean;
  /** The project whose file defines it, for a server that is not the user's own. */
  project?: string;
  /** For a source: an API that the daemon calls itself. */
  source?: SourceInfo;
}

/** Why a server cannot be used. Newer daemons may send other kinds. */
export type ServerCause =
  /** The program of its command does not exist. */
  | { kind: "missing_program" }
  /** Its entry refers to a variable that is not set. */
  | { kind: "unset_variable"; name: string }
  /** Its entry refers to a secret that is not set. */
  | { kind: "unset_secret"; name: string }
  /** Its entry refers to a secret that is set, but that its store did not return. */
  | { kind: "unreadable_secret"; name: string };

/** One session of a server that has several. */
export interface SessionInfo {
  /** To what the session belongs: a directory, a client, a run. */
  of: string;
  state: ServerState;
  reason?: string;
  pid?: number;
}

export type AuthState =
  /** There is no valid login: `mux servers login NAME`. */
  | "required"
  | "signed_in";

export type ServerState =
  /** Not started yet, or closed. */
  | "cold"
  | "starting"
  | "ready"
  /** It answers, but has a problem. */
  | "degraded"
  /** It could not be started; the next attempt follows after a delay. */
  | "backing_off"
  /** The last start failed; the next call tries again. */
  | "failed"
  /** The configuration of this server cannot be used. */
  | "broken"
  /** The configuration disables it: `mux servers enable NAME`. */
  | "disabled";
