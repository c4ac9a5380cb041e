//! Secrets that the configuration names: `${keyring:NAME}`.
//!
//! Invariant: a value goes to the daemon, in one message, and never comes back.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Text that is shown nowhere.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// Keeps a value, in place of the one that was kept.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SetSecretRequest {
    pub name: String,
    pub value: SecretText,
}

/// Where a secret is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPlace {
    /// The system's.
    Keyring,
    /// [`SecretList::file`].
    File,
}

/// One that was set, or that an entry names.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SecretInfo {
    pub name: String,
    /// Absent if nobody has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SecretPlace>,
    /// When it was set, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// The entries that name it, such as `servers.github`.
    #[serde(default)]
    pub used_by: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SecretList {
    /// By name.
    pub secrets: Vec<SecretInfo>,
    /// Those that are set now go into the system's keyring, and not into the file.
    pub keyring: bool,
    pub file: PathBuf,
    /// Why the keyring is not used, where it was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why the file is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SecretRemoved {
    pub name: String,
    pub was_set: bool,
    /// The entries that cannot be used without it.
    #[serde(default)]
    pub used_by: Vec<String>,
}
