//! Text and JSON of strangers, handled within limits.
//!
//! It knows `mux-process` for work that is moved off the runtime, and `mux-wire` for the error that a limit becomes.
//!
//! - `json_depth` bounds how deep JSON nests; `json_weight` how much memory it takes as a value, before it becomes one;
//!   `json_length` how long it is as text.
//! - `canonical_json` is one text for one value; `digest` names what is computed by everything that it was computed
//!   from; `random_name` makes names that cannot be guessed.
//! - `sanitize` removes what a server's words hide from readers (invisible characters, control sequences); `glob` reads
//!   globs once.
//! - `error_chain` is the causes of an error in one line; `did_you_mean` the known names near to a misspelled one.
//!
//! Invariant: every function takes time in proportion to its input, and none recurses into it.

pub mod canonical_json;
pub mod did_you_mean;
pub mod digest;
pub mod error_chain;
pub mod glob;
pub mod json_depth;
pub mod json_length;
pub mod json_weight;
pub mod random_name;
pub mod sanitize;
