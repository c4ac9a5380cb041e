//! What can be wrong on the way to a server.
//!
//! Invariant: an error says what became of the request: not sent, not taken, or nobody knows. None
//! holds a secret; whoever makes one has removed them.

use std::{fmt, io};

use rmcp::{
    service::ClientInitializeError,
    transport::{
        DynamicTransportError,
        streamable_http_client::{AuthRequiredError, StreamableHttpError},
    },
};

/// Why a message did not get its answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// Nothing of it has left us, or nothing that makes a message.
    #[error("{0}")]
    Unreached(String),
    /// The server has not looked at it, since it does not know the session any more.
    #[error("the server no longer knows the session")]
    Gone,
    /// The server has not taken it: somebody has to sign in first.
    #[error("{0}")]
    SignIn(AuthChallenge),
    /// Nothing was sent: a credential is missing, or cannot be used.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// Nothing was sent: it is called where the user has not allowed it.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// Nothing was sent: its arguments make no request.
    #[error("{0}")]
    Unfit(String),
    /// The server has not taken it, for another reason.
    #[error("{text}")]
    Declined { status: u16, text: String },
    /// It was sent, and the answer is more than is taken.
    #[error("{0}")]
    TooMuch(String),
    /// It was sent, and nobody knows what became of it.
    #[error("{0}")]
    Lost(String),
}

/// What a server says when it wants its users to sign in, or to have been given more rights.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuthChallenge {
    /// 401, or 403 for rights that are missing.
    pub status: u16,
    /// Its `WWW-Authenticate`, empty if there was none.
    pub header: String,
    /// What is known of the reason, for the user.
    pub why: Option<String>,
}

/// Why there is no session.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("{0}")]
    SignIn(AuthChallenge),
    #[error("{0}")]
    Failed(String),
}

impl AuthChallenge {
    /// rmcp carries one text: the reason follows behind a line end, which no header holds.
    fn encode_for_rmcp(&self) -> String {
        match &self.why {
            Some(why) => format!("{}\n{why}", self.header),
            None => self.header.clone(),
        }
    }

    fn decode_from_rmcp(status: u16, text: &str) -> Self {
        let (header, why) = match text.split_once('\n') {
            Some((header, why)) => (header, Some(why.to_owned())),
            None => (text, None),
        };
        Self {
            status,
            header: header.to_owned(),
            why,
        }
    }
}

impl fmt::Display for AuthChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.why {
            return write!(f, "{why} (HTTP {})", self.status);
        }
        match self.status {
            403 => f.write_str("it asks for more rights than were given (HTTP 403)"),
            status => write!(f, "it wants its users to sign in (HTTP {status})"),
        }
    }
}

impl LinkError {
    /// What the transport said, whatever rmcp has wrapped it into.
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

    /// The same for an error of a call.
    pub fn of_call(error: &DynamicTransportError) -> Self {
        match error.error.downcast_ref::<Self>() {
            Some(error) => error.clone(),
            None => Self::Lost(error.error.to_string()),
        }
    }

    /// The same for an error of a handshake; `None` if the way to the server is not to blame.
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

    /// Whether an address that answers so to the first message may speak the other kind of HTTP.
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
    /// A process has closed its end of the pipe, and half a line is no message.
    fn from(error: io::Error) -> Self {
        Self::Unreached(error.to_string())
    }
}

impl From<LinkError> for StreamableHttpError<LinkError> {
    fn from(error: LinkError) -> Self {
        match error {
            // rmcp tries a stream again after any other error.
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
