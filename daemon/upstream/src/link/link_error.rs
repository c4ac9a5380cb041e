//! The errors of a link to a server.
//!
//! Invariant: an error names the outcome of the request: not sent, refused, or unknown. No error contains a secret,
//! because its creator has removed them.

use std::{fmt, io, path::PathBuf};

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::{
        DynamicTransportError,
        streamable_http_client::{AuthRequiredError, StreamableHttpError},
    },
};

use mux_sources::CallFailure;

/// The reason a message did not get its answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// Not sent, or not enough to be a message.
    #[error("{0}")]
    Unreached(String),
    /// Not processed: the server no longer knows the session.
    #[error("the server no longer knows the session")]
    Gone,
    /// Refused: the user has to sign in first.
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// The failure of a source.
    #[error("{0}")]
    Source(CallFailure),
    /// Refused for another reason.
    #[error("{text}")]
    Declined { status: u16, text: String },
    /// Sent, but the answer exceeds a limit.
    #[error("{0}")]
    TooMuch(String),
    /// Sent, with an unknown outcome.
    #[error("{0}")]
    Lost(String),
}

/// A server's demand that the user signs in or grants more scopes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuthChallenge {
    /// 401, or 403 for missing scopes.
    pub status: u16,
    /// The `WWW-Authenticate` header, empty if there was none.
    pub header: String,
    /// The reason for the user, if known.
    pub why: Option<String>,
    /// Set if the server refuses a token that was just issued. Another login would have the same result.
    pub refuses_new_token: bool,
}

/// The reason a session could not be opened.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// The program of its command does not exist in these directories of `PATH`.
    #[error("`{program}` is not in PATH")]
    NotInPath {
        program: String,
        searched: Vec<PathBuf>,
    },
    /// The file of its command does not exist.
    #[error("{0}")]
    NoProgramFile(String),
    /// The server was not ready within `start_timeout`.
    #[error("{0}")]
    TooSlow(String),
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    pub(crate) fn is_missing_program(&self) -> bool {
        matches!(self, Self::NotInPath { .. } | Self::NoProgramFile(_))
    }

    /// The text for a user who asks for more detail.
    pub(crate) fn detail(&self) -> Option<String> {
        let Self::NotInPath { searched, .. } = self else {
            return None;
        };
        let searched: Vec<_> = searched.iter().map(|dir| dir.to_string_lossy()).collect();
        Some(format!("searched {}", searched.join(", "))).filter(|_| !searched.is_empty())
    }
}

impl AuthChallenge {
    /// The fix for the user.
    pub fn fix(&self, server: &str) -> String {
        if self.refuses_new_token {
            "another login would have the same result: tell the server's operator, or give a token in its `headers`"
                .into()
        } else {
            format!("`mux servers login {server}`, or give a token in its `headers`")
        }
    }

    /// Packs the challenge into the single string that rmcp carries: the reason follows a line feed, which no header
    /// contains, or two line feeds if a new token was refused.
    fn encode_for_rmcp(&self) -> String {
        match (&self.why, self.refuses_new_token) {
            (Some(why), true) => format!("{}\n\n{why}", self.header),
            (Some(why), false) => format!("{}\n{why}", self.header),
            (None, _) => self.header.clone(),
        }
    }

    fn decode_from_rmcp(status: u16, text: &str) -> Self {
        let (header, why) = match text.split_once('\n') {
            Some((header, why)) => (header, Some(why)),
            None => (text, None),
        };
        let refused = why.and_then(|why| why.strip_prefix('\n'));
        Self {
            status,
            header: header.to_owned(),
            why: refused.or(why).map(str::to_owned),
            refuses_new_token: refused.is_some(),
        }
    }
}

impl fmt::Display for AuthChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.why {
            return write!(f, "{why} (HTTP {})", self.status);
        }
        match self.status {
            403 => f.write_str("it requires more permissions than were granted (HTTP 403)"),
            status => write!(f, "it requires its users to sign in (HTTP {status})"),
        }
    }
}

impl LinkError {
    /// The transport's error inside an error of rmcp's HTTP transport.
    pub(super) fn of_http(error: StreamableHttpError<Self>) -> Self {
        match error {
            StreamableHttpError::Client(error) => error,
            StreamableHttpError::AuthRequired(error) => Self::SignIn(
                AuthChallenge::decode_from_rmcp(401, &error.www_authenticate_header),
            ),
            StreamableHttpError::InsufficientScope(error) => Self::SignIn(
                AuthChallenge::decode_from_rmcp(403, &error.www_authenticate_header),
            ),
            StreamableHttpError::SessionExpired => Self::Gone,
            error => Self::Lost(error.to_string()),
        }
    }

    /// The transport's error inside an error of a call.
    pub fn of_call(error: &DynamicTransportError) -> Self {
        match error.error.downcast_ref::<Self>() {
            Some(error) => error.clone(),
            None => Self::Lost(error.error.to_string()),
        }
    }

    /// The text of a request's error. rmcp's own text for a transport error names Rust types.
    pub(crate) fn text_of_request(error: &ServiceError) -> String {
        match error {
            ServiceError::TransportSend(error) => Self::of_call(error).to_string(),
            other => other.to_string(),
        }
    }

    /// The transport's error inside a handshake error. `None` if the link is not the cause.
    pub fn of_handshake(error: &ClientInitializeError) -> Option<Self> {
        match error {
            ClientInitializeError::TransportError { error, .. } => {
                error.error.downcast_ref::<Self>().cloned()
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self::of_handshake(fallback)
            }
            _ => None,
        }
    }

    /// True if a server that answers the first message with this error may support the other HTTP transport.
    pub fn suggests_other_transport(&self) -> bool {
        matches!(
            self,
            Self::Declined {
                status: 400 | 404 | 405,
                ..
            }
        )
    }
}

impl From<io::Error> for LinkError {
    /// The process has closed its end of the pipe. A partial line is not a message.
    fn from(error: io::Error) -> Self {
        Self::Unreached(error.to_string())
    }
}

impl From<LinkError> for StreamableHttpError<LinkError> {
    fn from(error: LinkError) -> Self {
        match error {
            // rmcp retries a stream after any other error.
            LinkError::SignIn(challenge) if challenge.status == 401 => {
                Self::AuthRequired(AuthRequiredError::new(challenge.encode_for_rmcp()))
            }
            error => Self::Client(error),
        }
    }
}

impl From<String> for OpenError {
    fn from(problem: String) -> Self {
        Self::Failed(problem)
    }
}
