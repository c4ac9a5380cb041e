// Handing over from the running daemon to another program.

export interface UpgradeRequest {
  /** The absolute path of the `muxd` to start. */
  binary: string;
  /** The contract that the client speaks, and the new daemon must speak. */
  contract: number;
}

/** The new daemon serves, and accepts all connections from now on. */
export interface Upgraded {
  pid: number;
  build: string;
  contract: number;
  /** Milliseconds from the request until the new daemon served. */
  ms: number;
}
