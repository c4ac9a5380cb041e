// The state of the daemon.

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
  /** The engine's own version, if it reports one. */
  engine_version?: string;
  uptime_ms: number;
  /** The resident memory of the daemon in bytes, where the system reports it. */
  rss_bytes?: number;
  clients: number;
  workers: WorkerStatus;
  checker: CheckerStatus;
  runs: RunCounts;
  servers: ServerInfo[];
  config: string;
  socket: string;
  log: string;
  /** Persistent problems: a config that does not parse, workers that do not start. */
  problems: string[];
  /** The same problems, with codes to decide by. A daemon of an older version sends none. */
  problem_details?: Problem[];
  /** What the daemon cannot do now, because its machine does not let it. */
  degraded?: Degraded[];
  tokens?: TokenStatus;
  /** What started the daemon, and which service manager supervises it. */
  started?: Started;
  /** The export of the daemon's spans. */
  telemetry?: TelemetryStatus;
}

/** The state of the OpenTelemetry exporter, without which a daemon may be built. */
export interface TelemetryStatus {
  built_in: boolean;
  /** The collector that the configuration or the user's environment names. */
  endpoint?: string;
  /** The number of spans that the collector has accepted. */
  sent: number;
  /** The number of spans that did not fit into the queue, or that the collector has not accepted. */
  lost: number;
  /** Why no spans can be sent, or the last ones were not. */
  problem?: string;
}

/** A condition of the host that restricts the daemon. It is reported while it lasts. */
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
  /** What is wrong, and what does not work. */
  message: string;
  /** What to do about it. */
  fix: string;
}

export interface Started {
  /** `client`: a client that needed a daemon; `hand`: a user who ran `muxd`. A newer daemon may send others. */
  by: "client" | "hand" | "systemd" | "launchd" | (string & {});
  /** The systemd unit, or the launchd label. */
  service?: string;
  /** Whether the listening socket is a service manager's, which starts a daemon for every client that connects. */
  socket_passed: boolean;
  /** The watchdog timeout: a daemon that does not answer for this long is killed and restarted. */
  watchdog_ms?: number;
}

export interface WorkerStatus {
  ready: number;
  busy: number;
  starting: number;
  waiting: number;
  /**
   * The sandbox layers of a worker besides its engine, by name; empty until one has started, and on systems without
   * any.
   */
  layers: string[];
  /** Whether isolates are built from a snapshot. */
  snapshot: boolean;
}

/** The type checker. */
export interface CheckerStatus {
  /** The path of the compiler, once found. */
  compiler?: string;
  version?: string;
  pid?: number;
  /** The compiler's resident memory in bytes. */
  rss_bytes?: number;
  /** The number of programs checked since the daemon started. */
  checks: number;
  /** The number of checks whose verdict was cached. */
  cached: number;
  /** Why programs run unchecked. */
  problem?: string;
}

export interface RunCounts {
  running: number;
  succeeded: number;
  failed: number;
}
