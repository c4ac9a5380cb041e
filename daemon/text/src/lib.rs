//! Text and JSON of strangers: how deep JSON nests, how much memory it takes as a value, how long it is as text; the
//! chain of causes of an error in one line; and the known name that a misspelled one is near to.
//!
//! It knows `mux-process` for work that is moved off the runtime, and `mux-wire` for the error that a limit becomes.
//! Invariant: every function takes time in proportion to its input, and none recurses into it.

pub mod canonical_json;
pub mod did_you_mean;
pub mod digest;
pub mod error_chain;
pub mod glob;
pub mod hygiene;
pub mod json_depth;
pub mod json_length;
pub mod json_weight;
pub mod random_name;
