// What this package speaks, as `proto/src/version.rs` has it.

/** The contract with the daemon. Another one is spoken with by another version of this package. */
export const CONTRACT = 1;

/** The version of this package. */
export const VERSION = "0.1.0";

/** What was added to the contract since its first build: a method in here is sent only to a daemon that lists it. */
export const FEATURES: readonly string[] = [];
