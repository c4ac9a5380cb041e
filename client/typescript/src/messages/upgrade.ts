// Another program takes over from the daemon that runs.

export interface UpgradeRequest {
  /** The `muxd` to start; absolute. */
  binary: string;
  /** What the client speaks, and the new daemon must speak. */
  contract: number;
}

/** The new daemon serves. Whoever connects from now on is connected to it. */
export interface Upgraded {
  pid: number;
  build: string;
  contract: number;
  /** From the request to the moment at which the new daemon served. */
  ms: number;
}
