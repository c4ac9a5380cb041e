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
  /** What this reload has changed: servers and sources, by name. */
  added: string[];
  removed: string[];
  /** Servers whose definition changed: they restart with the next call. */
  changed: string[];
  unchanged: string[];
  problems: string[];
  /** For each changed server, the keys that differ. */
  reasons?: Record<string, string[]>;
  /** The names above that belong to sources. */
  sources?: string[];
  /** What this reload has changed besides servers and sources. */
  sections?: SectionChange[];
  /**
   * The last load that was not a `reload`, such as that of a file that was saved, if it has changed anything and no
   * `reload` has reported it yet.
   */
  earlier?: EarlierLoad;
}

/** What differs in one section of the configuration. */
export interface SectionChange {
  /** Such as `policy`, `limits`, `agents`, `telemetry` or `secrets`. */
  section: string;
  /** Names, or rules as text. */
  added?: string[];
  removed?: string[];
  /** Keys, or `order` if rules have only changed places. */
  changed?: string[];
}

/** A load that took place before. */
export interface EarlierLoad {
  age_ms: number;
  /** What it has changed; without unchanged servers and problems. */
  report: ReloadReport;
}
