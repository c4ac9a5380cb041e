// What this package speaks. `proto/src/version.rs` has the history of the contract.

/** The contract with the daemon. Another one is spoken with by another version of this package. */
export const CONTRACT = 5;

/** The version of this package. */
export const VERSION = "0.1.0";

/** What this client understands beyond the first contract; the daemon sends events of steps to those who do. */
export const FEATURES: readonly string[] = ["program", "notices", "approvals", "upgrade"];
