// The introduction of both sides, and the end of a daemon.

/** First message of a connection. */
export interface Hello {
  contract: number;
  build: string;
  client: ClientInfo;
  agent?: string;
  /** The directory in which the client works. */
  workspace?: string;
  /** The requests are an agent's: only runs of the same client and agent are found, and hints name no commands. */
  for_agent?: boolean;
  features?: string[];
}

export interface ClientInfo {
  name: string;
  version: string;
}

/** The daemon's answer to `Hello`. */
export interface Welcome {
  contract: number;
  build: string;
  pid: number;
  features: string[];
}

export interface StopRequest {
  /** Whether to cancel running programs instead of waiting for them. */
  now?: boolean;
}

export interface ReloadReport {
  added: string[];
  removed: string[];
  /** Servers whose definition changed: they restart with the next call. */
  changed: string[];
  unchanged: string[];
  problems: string[];
  /** For each changed server, the keys that differ. */
  reasons?: Record<string, string[]>;
}
