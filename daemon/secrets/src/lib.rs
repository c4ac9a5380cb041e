//! What a secret looks like, and how it is masked.
//!
//! It knows no other crate of this workspace. The client and the daemon use it alike, so that import, status, errors,
//! logs and recordings mask the same.
//!
//! One table of the token formats that services publish ([`formats`](self::formats)), one reading of the names that
//! announce a secret ([`Suspicion`]), one masker ([`Masker`]), and a type that holds a secret and never shows it
//! ([`Secret`]). No part of it measures entropy: every rule is a prefix, a word, a length or a kind of character, so
//! that a user can tell beforehand what will be masked.
//!
//! A text is judged by where it is found:
//!
//! - **prose** (errors, logs, results): known values, published formats at their published lengths, `Bearer` and
//!   `Basic` values, private keys, and passwords and tokens in URLs ([`Masker::text`]);
//! - **a named value** (a variable, a header, an option, a JSON member): the same, and what its name announces
//!   ([`is_secret`]);
//! - **a value that a user wrote into a configuration** (an argument, a part of a URL's path): the same, and what has
//!   the shape of a generated key ([`is_secret_value`], [`arguments`]).
//!
//! The modules:
//!
//! - `formats` is the one table of published token formats, `names` the words that announce a secret, `shape` values
//!   that look like one, `scan` secrets in prose.
//! - `arguments` masks the words of a command line, `url` an address, `config_line` a line of a diff; `known` are
//!   secrets known by their value, in every spelling (`KnownSecrets` is what no error of an entry repeats, secrets
//!   written in the entry included).
//! - `masker` replaces what these find; `secret` is the type that holds one.
//!
//! Invariants:
//!
//! - What a secret looks like is decided here and nowhere else.
//! - Masking is idempotent, takes time linear in the text, and its output holds no known value.
//! - A [`Secret`] is neither `Display` nor `Serialize`; its memory is overwritten when it is dropped.

pub mod arguments;
mod config_line;
mod formats;
mod known;
mod masker;
mod names;
mod scan;
mod secret;
mod shape;
pub mod url;

pub use self::{
    config_line::mask_config_line,
    known::{KnownSecrets, MIN_KNOWN_LEN},
    masker::{Masker, RecentTokens},
    names::{Suspicion, suspicion},
    secret::{Secret, expose_optional},
    shape::{is_path, is_secret, is_secret_value, may_be_generated},
};

/// What stands in a secret's place.
pub const MASK: &str = "***";
