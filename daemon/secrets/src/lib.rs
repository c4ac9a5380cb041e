//! Detects and masks secrets.
//!
//! Depends on no other crate of this workspace. Client and daemon share it, which makes import, status, errors, logs
//! and recordings mask the same values.
//!
//! No rule measures entropy: each is a prefix, a word, a length or a set of characters. Users can therefore predict
//! what is masked. The location of a text decides which rules apply:
//!
//! - **Prose** (errors, logs, results): known values, published token formats at their published lengths, `Bearer` and
//!   `Basic` values, private keys, and passwords and tokens in URLs ([`Masker::text`]).
//! - **Named values** (variables, headers, options, JSON members): also values whose names announce a secret
//!   ([`is_secret`]).
//! - **Values in a configuration** (arguments, parts of a URL's path): also values with the shape of a generated key
//!   ([`is_secret_value`], [`arguments`]).
//!
//! The modules:
//!
//! - `formats` is the table of published token formats, `names` the words that announce a secret, `shape` detects
//!   values that look like one, `scan` finds secrets in prose.
//! - `arguments` masks command-line arguments, `url` a URL, `config_line` a line of a diff. `known` contains secrets
//!   known by their value, including those written literally in a server's configuration.
//! - `masker` replaces the secrets that these find, `json_value` in the strings of a JSON value. `secret` is the type
//!   of a secret.
//!
//! Invariants:
//!
//! - All rules that define a secret are in this crate.
//! - Masking is idempotent and takes linear time, and its output contains no known value.
//! - A [`Secret`] is neither `Display` nor `Serialize`. Its memory is overwritten when it is dropped.

pub mod arguments;
mod config_line;
mod formats;
mod json_value;
mod known;
mod masker;
mod names;
mod scan;
mod secret;
mod shape;
pub mod url;

pub use self::{
    config_line::mask_config_line,
    json_value::{is_searchable_within, mask_value, value_has_secret},
    known::{KnownSecrets, MIN_KNOWN_LEN},
    masker::{Masker, RecentTokens},
    names::{Suspicion, suspicion},
    secret::{Secret, expose_optional},
    shape::{is_path, is_secret, is_secret_value, may_be_generated},
};

/// The replacement for a masked secret.
pub const MASK: &str = "***";
