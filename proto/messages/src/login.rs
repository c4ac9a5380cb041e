//! Signing in to a server and out of it. None of these messages contains a token, code or client secret, except the
//! redirect URL that a user pastes.

use serde::{Deserialize, Serialize};

use crate::AnyKind;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginRequest {
    pub server: String,
}

/// A login that was started: the page for the user, and the id to request its outcome with.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginStarted {
    pub login: String,
    /// The URL to open in a browser: http or https. Empty if the sign-in of another server covers this one: there is no
    /// page, and the outcome comes by itself.
    pub url: String,
    /// The server whose sign-in covers this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<String>,
    /// Notes that the user should read before signing in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The authorization server, as the server names it.
    pub issuer: String,
    /// The port of the loopback interface to which the browser is redirected.
    pub redirect_port: u16,
    /// Milliseconds until the login expires.
    pub expires_ms: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginWaitRequest {
    pub login: String,
    /// 30 s at most.
    pub wait_ms: u64,
}

/// Completes a login whose browser cannot reach the daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginFinishRequest {
    pub login: String,
    /// The URL to which the browser was redirected.
    pub redirect_url: String,
}

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoginState {
    pub server: String,
    /// True while the user has not decided yet.
    pub pending: bool,
    /// The authorization server that issued the tokens.
    pub issuer: Option<String>,
    /// Who has signed in, if the authorization server says so.
    pub who: Option<String>,
    /// The scopes that were granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The number of tools that the server lists for this user.
    pub tools: Option<usize>,
    /// Why the server could not be opened, although the login succeeded.
    pub problem: Option<String>,
    /// `auth_required`: the server does not accept the token that was just issued.
    pub problem_kind: Option<AnyKind>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoggedOut {
    pub server: String,
    /// True if a login existed.
    pub was_signed_in: bool,
    /// True if the authorization server has revoked the tokens.
    pub revoked: bool,
    /// Why they were not revoked, although the server supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Where tokens are stored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenStatus {
    /// Whether the tokens are in the system's keyring instead of the file.
    pub keyring: bool,
    pub file: std::path::PathBuf,
    /// Why the keyring is not used, although it is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
