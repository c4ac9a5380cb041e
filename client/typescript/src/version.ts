// The contract and the version of this package. `proto/src/version.rs` has the same contract.

/** The contract with the daemon. Another one is spoken with by another version of this package. */
export const CONTRACT = 1;

/** The version of this package. */
export const VERSION = "0.1.0";

/** The methods that were added to the contract since its first build. Each is sent only to a daemon that lists it. */
export const FEATURES: readonly string[] = [];
