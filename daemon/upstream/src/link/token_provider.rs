//! What gives the requests to a remote server the right to be answered.
//!
//! Invariant: the server that refuses a request has not taken it, so it may be sent once more, and
//! only once, with another token.

use futures::future::BoxFuture;

use super::link_error::{AuthChallenge, LinkError};

/// Asked for a token before each request, and for another one when the server does not take it.
pub(crate) trait TokenProvider: std::fmt::Debug + Send + Sync {
    /// Goes into `Authorization: Bearer`, in place of what the entry's headers say. `None`: they are
    /// all there is.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>>;

    /// The server answered 401 or 403 to a request with this token. With another one the request is
    /// sent again; with `None` it fails with the challenge.
    fn token_refused<'a>(
        &'a self,
        sent: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>>;

    /// The same of the second token: the request fails with this.
    fn retry_refused<'a>(
        &'a self,
        _sent: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, LinkError> {
        Box::pin(async { LinkError::SignIn(challenge.clone()) })
    }
}

/// Nobody signs in: the headers of the entry are all there is.
#[derive(Debug)]
pub(crate) struct NoTokenProvider;

impl TokenProvider for NoTokenProvider {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>> {
        Box::pin(async { Ok(None) })
    }

    fn token_refused<'a>(
        &'a self,
        _: Option<&'a str>,
        _: &'a AuthChallenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>> {
        Box::pin(async { Ok(None) })
    }
}
