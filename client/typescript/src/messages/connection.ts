// Who is there on both sides, and the end of a daemon.

/** First message of a connection. */
export interface Hello {
  contract: number;
  build: string;
  client: ClientInfo;
  agent?: string;
  /** The directory in which the client works. */
  workspace?: string;
  /** What is asked here is asked by an agent: only runs of the same client and agent are found, and hints name no command line. */
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
  /** Cancel what runs instead of waiting for it. */
  now?: boolean;
}

export interface ReloadReport {
  added: string[];
  removed: string[];
  /** Their definition changed: they restart with the next call. */
  changed: string[];
  unchanged: string[];
  problems: string[];
  /** Of each that changed, the keys that differ. */
  reasons?: Record<string, string[]>;
}
