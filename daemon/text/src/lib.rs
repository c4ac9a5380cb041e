//! Handles untrusted text and JSON within limits.
//!
//! Depends on `mux-process`, to move work off the runtime, and on `mux-wire` for faults.
//!
//! - `json_depth` limits the nesting of JSON, `json_weight` estimates its memory before it is parsed, and
//!   `json_length` computes its serialized length.
//! - `canonical_json` writes equal values identically, `digest` computes keys over lists of parts, and `random_name`
//!   creates names that cannot be guessed.
//! - `sanitize` strips invisible characters and control sequences from server strings. `glob` matches globs.
//! - `loose_name` compares names as lenient servers do.
//! - `tool_path` reads tool paths as other clients write them.
//! - `error_chain` describes the causes of an error on one line. `did_you_mean` suggests similar names.
//!
//! Invariant: the time of every function is linear in its input, or bounded by a constant. Recursion is bounded by the
//! depth at which `serde_json` stops parsing.

pub mod canonical_json;
pub mod did_you_mean;
pub mod digest;
pub mod error_chain;
pub mod glob;
pub mod json_length;
pub mod json_weight;
pub mod loose_name;
pub mod random_name;
pub mod sanitize;
pub mod tool_path;

pub use mux_wire::json_depth;
