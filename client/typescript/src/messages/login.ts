// Signing in to a server and out of it.

export interface LoginRequest {
  server: string;
}

/** A login that was started: the page for the user, and the id to request its outcome with. */
export interface LoginStarted {
  login: string;
  /** The URL to open in a browser: http or https. */
  url: string;
  /** The authorization server, as the server names it. Absent from daemons that do not report it. */
  issuer?: string;
  /** The port of the loopback interface to which the browser is redirected. */
  redirect_port: number;
  /** Milliseconds until the login expires. */
  expires_ms: number;
}

export interface LoginWaitRequest {
  login: string;
  /** 30 s at most. */
  wait_ms: number;
}

/** Completes a login whose browser cannot reach the daemon. */
export interface LoginFinishRequest {
  login: string;
  /** The URL to which the browser was redirected. */
  redirect_url: string;
}

export interface LoginState {
  server: string;
  /** Whether the user has not decided yet. */
  pending: boolean;
  /** The authorization server that issued the tokens. */
  issuer?: string;
  /** The scopes that were granted. */
  scopes?: string[];
  /** The number of tools that the server lists for this user. */
  tools?: number;
  /** Why the server could not be opened, although the login succeeded. */
  problem?: string;
}

export interface LoggedOut {
  server: string;
  /** Whether there was a login. */
  was_signed_in: boolean;
  /** Whether the authorization server has revoked the tokens. */
  revoked: boolean;
  /** Why they were not revoked, although the server supports it. */
  problem?: string;
}

/** Where tokens are stored. */
export interface TokenStatus {
  /** Whether they are in the system's keyring, and not in the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, although it is configured. */
  note?: string;
}
