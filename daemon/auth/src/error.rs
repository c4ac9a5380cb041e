//! Errors of logins and tokens, with hints for the user.
//!
//! Invariant: strings from an authorization server are cut to one line, and no error contains a secret.

use std::time::Duration;

use mux_wire::{Fault, FaultKind};

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AuthError {
    /// The user must sign in, for the first time or again.
    #[error("{0}")]
    Required(String),
    /// The server refuses a token that was just issued: another login would have the same result.
    #[error("{0}")]
    TokenRefused(String),
    /// A request to the authorization server failed. A retry may help.
    #[error("request to the authorization server failed: {0}")]
    Unavailable(String),
    /// The metadata or answers of the server or its authorization server cannot be trusted or used.
    #[error("{0}")]
    Unfit(String),
    /// The user's own client belongs to another or an unknown authorization server.
    #[error(
        "it names the authorization server {found}, and {why}; no client id or secret was sent there"
    )]
    ForeignIssuer { found: String, why: String },
    /// The user or the authorization server refused.
    #[error("the authorization server refused: {0}")]
    Denied(String),
    /// The submitted URL is not a response to this login.
    #[error("{0}")]
    NoAnswer(String),
    #[error("the login was not completed within {} minutes", .0.as_secs() / 60)]
    TimedOut(Duration),
    #[error("another login to the same server replaced it")]
    Superseded,
    #[error("the login was cancelled, because its client has ended")]
    Abandoned,
    #[error("there is no longer a login `{0}`")]
    Unknown(String),
    #[error("{0}")]
    PortTaken(String),
    /// Credentials cannot be saved or read.
    #[error("{0}")]
    Store(String),
    /// The server does not use OAuth.
    #[error("{0}")]
    Inapplicable(String),
}

impl AuthError {
    /// The error as shown to programs, agents and users.
    pub fn fault(&self, server: &str) -> Fault {
        let login = format!("`mux servers login {server}`");
        let (kind, hint) = match self {
            Self::Required(_) => (FaultKind::AuthRequired, login),
            Self::TokenRefused(_) => (
                FaultKind::AuthRequired,
                "tell the operator of the server".into(),
            ),
            Self::Unavailable(_) => (FaultKind::Unavailable, "try again later".into()),
            Self::Unfit(_) => (
                FaultKind::Unavailable,
                "report it to the operator of the server; if you have a token, put \
                 headers = { Authorization = \"Bearer ${TOKEN}\" } into its entry"
                    .into(),
            ),
            Self::ForeignIssuer { found, .. } => (
                FaultKind::Denied,
                format!(
                    "if you have registered this client there, write into the `oauth` of [servers.{server}]: \
                     issuer = {found:?}"
                ),
            ),
            Self::Denied(_) => (
                FaultKind::Denied,
                format!("{login} tries again; see also `oauth` in its entry"),
            ),
            Self::NoAnswer(_) => (
                FaultKind::Validation,
                "paste the full URL that the browser was redirected to".into(),
            ),
            Self::TimedOut(_) => (
                FaultKind::Timeout,
                format!(
                    "{login} starts a new one; an error page in the browser says what is wrong"
                ),
            ),
            Self::Superseded => (FaultKind::Cancelled, "complete the newer login".into()),
            Self::Abandoned => (FaultKind::Cancelled, format!("{login} starts a new one")),
            Self::Unknown(_) => (FaultKind::NotFound, format!("{login} starts a new one")),
            Self::PortTaken(_) => (
                FaultKind::Unavailable,
                format!("free that port, or change oauth.port of [servers.{server}]"),
            ),
            Self::Store(_) => (FaultKind::Unavailable, format!("once fixed, run {login}")),
            Self::Inapplicable(_) => (
                FaultKind::Validation,
                "`mux servers` lists the servers".into(),
            ),
        };
        let fault = Fault::new(kind, format!("the server `{server}`: {self}"));
        fault.hint(hint)
    }
}

/// Returns true if an authorization server refuses the request rather than the user. RFC 6749, 4.1.2.1.
pub(super) fn is_request_refusal(why: &str) -> bool {
    is_registration_refusal(why)
        || ["invalid_request", "invalid_target"]
            .iter()
            .any(|name| why.contains(name))
}

/// Returns true if an authorization server refuses the registered client rather than the login: it does not know the client, or
/// has registered it without a scope. RFC 6749, 4.1.2.1 and 5.2.
pub(super) fn is_registration_refusal(why: &str) -> bool {
    let names = ["invalid_client", "unauthorized_client", "invalid_scope"];
    names.iter().any(|name| why.contains(name))
}
