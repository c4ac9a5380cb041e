// Signing in to a server, and out.

export interface LoginRequest {
  server: string;
}

/** Where the user says yes, and what to ask for the outcome with. */
export interface LoginStarted {
  login: string;
  /** To be opened in a browser: http or https. */
  url: string;
  /** The authorization server, as the server names it. Absent from a daemon that does not say it. */
  issuer?: string;
  /** The browser is sent back to this port of the loopback interface. */
  redirect_port: number;
  /** The login is over after so long. */
  expires_ms: number;
}

export interface LoginWaitRequest {
  login: string;
  /** 30 s at most. */
  wait_ms: number;
}

/** For a browser that cannot reach the daemon. */
export interface LoginFinishRequest {
  login: string;
  /** Where the browser was sent to in the end. */
  redirect_url: string;
}

export interface LoginState {
  server: string;
  /** Nobody has said yes or no so far. */
  pending: boolean;
  /** Who vouches for the user. */
  issuer?: string;
  /** What was granted. */
  scopes?: string[];
  /** What the server offers to this user. */
  tools?: number;
  /** Signed in, and the server could not be opened all the same. */
  problem?: string;
}

export interface LoggedOut {
  server: string;
  /** Somebody was signed in. */
  was_signed_in: boolean;
  /** The authorization server was told, and agreed. */
  revoked: boolean;
  /** Why it was not, where it could have been. */
  problem?: string;
}

/** Where tokens are kept. */
export interface TokenStatus {
  /** The system's keyring, and not the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, where it was to be. */
  note?: string;
}
