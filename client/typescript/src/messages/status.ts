// How the daemon is.

import type { TokenStatus } from "./login.js";
import type { ServerInfo } from "./servers.js";

/** Something that is wrong and goes on being wrong. */
export interface Problem {
  /**
   * What it is about: `config`, `server`, `approvals`, `metrics`, `client`, `pins`, `workers`, `cache`, `audit` or
   * `credentials`; newer daemons may send others.
   */
  code: string;
  /** The server or source that cannot be used, for `server`. */
  server?: string;
  message: string;
}

export interface Status {
  build: string;
  contract: number;
  pid: number;
  /** `v8` or `quickjs`; unknown until a worker has started. */
  engine?: string;
  /** The engine's own version, where it tells. */
  engine_version?: string;
  uptime_ms: number;
  /** Resident memory of the daemon in bytes, where the system tells. */
  rss_bytes?: number;
  clients: number;
  workers: WorkerStatus;
  checker: CheckerStatus;
  runs: RunCounts;
  servers: ServerInfo[];
  config: string;
  socket: string;
  log: string;
  /** What is wrong and goes on being wrong: a config that does not parse, workers that do not start. */
  problems: string[];
  /** The same problems, with codes to decide by. A daemon of an older version sends none. */
  problem_details?: Problem[];
  /** What the daemon cannot do now, because its machine does not let it. */
  degraded?: Degraded[];
  tokens?: TokenStatus;
  /** Who started it, and who looks after it. */
  started?: Started;
  /** Where its spans go. */
  telemetry?: TelemetryStatus;
}

/** Of OpenTelemetry, which a daemon may be built without. */
export interface TelemetryStatus {
  built_in: boolean;
  /** The collector that the configuration or the user's environment names. */
  endpoint?: string;
  /** Spans that it has taken. */
  sent: number;
  /** Spans that had no room while they waited, or that it has not taken. */
  lost: number;
  /** Why none can be sent, or the last ones were not. */
  problem?: string;
}

/** One way in which the daemon is less than it could be. It is told as long as it is so. */
export interface Degraded {
  /** A newer daemon may know others. */
  mode:
    | "descriptors"
    | "disk_full"
    | "read_only"
    | "missing"
    | "log"
    | "audit"
    | "cache"
    | "workers"
    | "clock"
    | "paused"
    | "watch"
    | "no_home"
    | "environment"
    | (string & {});
  /** What is so, and what does not work. */
  message: string;
  /** What one does about it. */
  fix: string;
}

export interface Started {
  /** `client`: the first one that needed it; `hand`: somebody who ran `muxd`. A newer daemon may say others. */
  by: "client" | "hand" | "systemd" | "launchd" | (string & {});
  /** The unit of systemd, or the label of launchd. */
  service?: string;
  /** The listening socket is a service manager's, which starts a daemon for whoever connects. */
  socket_passed: boolean;
  /** A daemon that does not answer for so long is ended and started again. */
  watchdog_ms?: number;
}

export interface WorkerStatus {
  ready: number;
  busy: number;
  starting: number;
  waiting: number;
  /**
   * What holds a worker back beside its engine, by name; empty until one has started, and on systems that
   * have nothing of the kind.
   */
  layers: string[];
  /** Whether isolates are built from a snapshot. */
  snapshot: boolean;
}

/** The type checker. */
export interface CheckerStatus {
  /** The compiler that is used, once it was found. */
  compiler?: string;
  version?: string;
  pid?: number;
  /** Its resident memory. */
  rss_bytes?: number;
  /** Programs looked at since the daemon started. */
  checks: number;
  /** Those of them whose verdict was known already. */
  cached: number;
  /** Why programs run unchecked. */
  problem?: string;
}

export interface RunCounts {
  running: number;
  succeeded: number;
  failed: number;
}
