//! Why there is no token, in the words of whoever has to do something about it.
//!
//! Invariant: what an authorization server wrote is cut to one line, and no secret stands in it.

use std::time::Duration;

use mux_wire::{Fault, Kind};

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AuthError {
    /// Somebody has to sign in, for the first time or again.
    #[error("{0}")]
    Required(String),
    /// The authorization server could not be asked. Asking again may help.
    #[error("the authorization server cannot be asked: {0}")]
    Unavailable(String),
    /// What the server or its authorization server says of itself cannot be trusted or used.
    #[error("{0}")]
    Unfit(String),
    /// The user's own client belongs to another authorization server, or to one that is not known.
    #[error(
        "it names the authorization server {found}, and {why}; no client id or secret was sent there"
    )]
    ForeignIssuer { found: String, why: String },
    /// The user, or the authorization server on his behalf, said no.
    #[error("the authorization server refused: {0}")]
    Denied(String),
    /// What was handed in is no answer to this login.
    #[error("{0}")]
    NoAnswer(String),
    #[error("nobody signed in within {} minutes", .0.as_secs() / 60)]
    TimedOut(Duration),
    #[error("another login of the same server took its place")]
    Superseded,
    #[error("there is no login `{0}` any more")]
    Unknown(String),
    #[error("{0}")]
    PortTaken(String),
    /// Tokens cannot be kept, or those that are kept cannot be read.
    #[error("{0}")]
    Store(String),
    /// This server is not one to sign in to.
    #[error("{0}")]
    Inapplicable(String),
}

impl AuthError {
    /// As programs, agents and people are told.
    pub fn fault(&self, server: &str) -> Fault {
        let login = format!("`mux servers login {server}`");
        let (kind, hint) = match self {
            Self::Required(_) => (Kind::AuthRequired, login),
            Self::Unavailable(_) => (Kind::Unavailable, "try again in a while".into()),
            Self::Unfit(_) => (
                Kind::Unavailable,
                "tell whoever runs the server; with a token of your own, put \
                 headers = { Authorization = \"Bearer ${TOKEN}\" } into its entry"
                    .into(),
            ),
            Self::ForeignIssuer { found, .. } => (
                Kind::Denied,
                format!(
                    "if you have registered this client there, write into the `oauth` of [servers.{server}]: \
                     issuer = {found:?}"
                ),
            ),
            Self::Denied(_) => (
                Kind::Denied,
                format!("{login} asks again; see also `oauth` in its entry"),
            ),
            Self::NoAnswer(_) => (
                Kind::Validation,
                "paste the whole address that the browser was sent to in the end".into(),
            ),
            Self::TimedOut(_) => (Kind::Timeout, format!("{login} begins again")),
            Self::Superseded => (Kind::Cancelled, "finish that one".into()),
            Self::Unknown(_) => (Kind::NotFound, format!("{login} begins a new one")),
            Self::PortTaken(_) => (
                Kind::Unavailable,
                format!("end what listens there, or change oauth.port of [servers.{server}]"),
            ),
            Self::Store(_) => (Kind::Unavailable, format!("when that is mended, {login}")),
            Self::Inapplicable(_) => (Kind::Validation, "`mux servers` lists them".into()),
        };
        let fault = Fault::new(kind, format!("the server `{server}`: {self}"));
        fault.hint(hint)
    }
}

/// Whether an authorization server refuses the client and not the login. RFC 6749, 5.2.
pub(super) fn is_client_rejection(why: &str) -> bool {
    let names = ["invalid_client", "unauthorized_client"];
    names.iter().any(|name| why.contains(name))
}

/// One line of what a stranger wrote, of a length that one can read.
pub(super) fn one_line_excerpt(text: &str) -> String {
    const MAX_EXCERPT_CHARS: usize = 300;
    let words: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_EXCERPT_CHARS)
        .collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
