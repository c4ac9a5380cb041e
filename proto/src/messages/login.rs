//! Signing in to a server, and out. No token, code or secret of a client stands in any of these but the
//! address that somebody pastes.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoginRequest {
    pub server: String,
}

/// Where the user says yes, and what to ask for the outcome with.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoginStarted {
    pub login: String,
    /// To be opened in a browser: http or https.
    pub url: String,
    /// The authorization server, as the server names it. Absent from a daemon that does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The browser is sent back to this port of the loopback interface.
    pub redirect_port: u16,
    /// The login is over after so long.
    pub expires_ms: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoginWaitRequest {
    pub login: String,
    /// 30 s at most.
    pub wait_ms: u64,
}

/// For a browser that cannot reach the daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoginFinishRequest {
    pub login: String,
    /// Where the browser was sent to in the end.
    pub redirect_url: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoginState {
    pub server: String,
    /// Nobody has said yes or no so far.
    pub pending: bool,
    /// Who vouches for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What was granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// What the server offers to this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// Signed in, and the server could not be opened all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoggedOut {
    pub server: String,
    /// Somebody was signed in.
    pub was_signed_in: bool,
    /// The authorization server was told, and agreed.
    pub revoked: bool,
    /// Why it was not, where it could have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Where tokens are kept.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TokenStatus {
    /// The system's keyring, and not the file.
    pub keyring: bool,
    pub file: std::path::PathBuf,
    /// Why the keyring is not used, where it was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
