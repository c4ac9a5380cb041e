//! Supplies bearer tokens for the requests to a remote server.
//!
//! Invariant: a server that refuses a request has not processed it, so it may be resent once with another token.

use futures::future::BoxFuture;

use crate::link::link_error::{AuthChallenge, LinkError};

/// Provides a token before each request, and another token if the server refuses it.
pub(crate) trait TokenProvider: std::fmt::Debug + Send + Sync {
    /// The token for `Authorization: Bearer`, which replaces such a header of the entry. `None`: only the entry's
    /// headers are sent.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>>;

    /// The token as held, which may have expired. No authorization server is asked.
    fn held_token(&self) -> Option<String>;

    /// The server answered 401 or 403 to a request with this token. Given another token, the request is resent. Given
    /// `None`, it fails with the challenge.
    fn token_refused<'a>(
        &'a self,
        sent: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>>;

    /// The server refused the second token, too. Returns the request's error.
    fn retry_refused<'a>(
        &'a self,
        _sent: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, LinkError> {
        Box::pin(async { LinkError::SignIn(challenge.clone()) })
    }
}

/// Provides no token: only the headers of the entry are sent.
#[derive(Debug)]
pub(crate) struct NoTokenProvider;

impl TokenProvider for NoTokenProvider {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>> {
        Box::pin(async { Ok(None) })
    }

    fn held_token(&self) -> Option<String> {
        None
    }

    fn token_refused<'a>(
        &'a self,
        _: Option<&'a str>,
        _: &'a AuthChallenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>> {
        Box::pin(async { Ok(None) })
    }
}
