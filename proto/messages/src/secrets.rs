//! Secrets that the configuration names, as `${keyring:NAME}`.
//!
//! Invariant: a value is sent to the daemon, in one message, and never returned.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// A string that is never shown.
#[derive(Clone, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// Stores the value of a secret and replaces the current value.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetSecretRequest {
    pub name: String,
    pub value: SecretText,
}

/// Where a secret is stored.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecretPlace {
    /// The system's keyring.
    Keyring,
    /// The file [`SecretList::file`].
    File,
}

/// A secret that was set, or that an entry of the configuration names.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretInfo {
    pub name: String,
    /// Where the secret is stored. Absent if it is not set.
    pub place: Option<SecretPlace>,
    /// When it was set, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The entries that name it, such as `servers.github`.
    pub used_by: Vec<String>,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretList {
    /// The secrets, sorted by name.
    pub secrets: Vec<SecretInfo>,
    /// Whether new secrets are stored in the system's keyring, instead of the file.
    pub keyring: bool,
    pub file: PathBuf,
    /// Why the keyring is not used, although it is configured.
    pub note: Option<String>,
    /// Why the file is not used.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretRemoved {
    pub name: String,
    pub was_set: bool,
    /// The entries that cannot be used without it.
    pub used_by: Vec<String>,
}
