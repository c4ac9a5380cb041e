//! Supplies bearer tokens for the requests to a remote server.
//!
//! Invariants: a server that refuses a request has not processed it, so it may be resent once with another token. The
//! account's reason for a missing token reaches the caller. The token itself goes only into the request.

use std::sync::Arc;

use crate::link::link_error::{AuthChallenge, LinkError};
use mux_auth::{Account, AuthError};
use mux_secrets::Secret;

/// Provides an account's token before each request, and another token if the server refuses it. Without an account, only
/// the headers of the entry are sent.
#[derive(Debug)]
pub(super) struct TokenProvider(pub(super) Option<Arc<Account>>);

impl TokenProvider {
    /// The token for `Authorization: Bearer`, which replaces such a header of the entry.
    pub(super) async fn token(&self) -> Result<Option<String>, LinkError> {
        let Some(account) = &self.0 else {
            return Ok(None);
        };
        let token = Box::pin(account.token()).await;
        token
            .map(|token| token.map(|token| bearer_text(&token)))
            .map_err(|error| auth_link_error(error, 401))
    }

    /// The token as held, which may have expired. No authorization server is asked.
    pub(super) fn held_token(&self) -> Option<String> {
        let token = self.0.as_ref()?.held_token()?;
        Some(bearer_text(&token))
    }

    /// The server answered 401 or 403 to a request with this token. Given another token, the request is resent. Given
    /// `None`, it fails with the challenge.
    pub(super) async fn token_refused(
        &self,
        sent: Option<&str>,
        challenge: &AuthChallenge,
    ) -> Result<Option<String>, LinkError> {
        let Some(account) = &self.0 else {
            return Ok(None);
        };
        let header = Some(challenge.header.as_str());
        if challenge.status == 403 {
            return match Box::pin(account.handle_forbidden(header)).await {
                Some(error) => Err(auth_link_error(error, 403)),
                None => Ok(None),
            };
        }
        let sent = sent.map(Secret::new);
        match Box::pin(account.handle_unauthorized(sent.as_ref(), header)).await {
            Ok(token) => Ok(Some(bearer_text(&token))),
            Err(error) => Err(auth_link_error(error, 401)),
        }
    }

    /// The server refused the second token, too. Returns the request's error.
    pub(super) async fn retry_refused(
        &self,
        sent: Option<&str>,
        challenge: &AuthChallenge,
    ) -> LinkError {
        let header = Some(challenge.header.as_str());
        let error = match &self.0 {
            Some(account) if challenge.status == 403 => {
                Box::pin(account.handle_forbidden(header)).await
            }
            Some(account) => {
                Some(account.mark_token_refused(sent.map(Secret::new).as_ref(), header))
            }
            None => None,
        };
        match error {
            Some(error) => auth_link_error(error, challenge.status),
            None => LinkError::SignIn(challenge.clone()),
        }
    }
}

fn bearer_text(token: &Secret) -> String {
    token.expose().to_owned()
}

fn auth_link_error(error: AuthError, status: u16) -> LinkError {
    let refuses_new_token = matches!(error, AuthError::TokenRefused(_));
    match error {
        AuthError::Required(why) | AuthError::TokenRefused(why) => {
            LinkError::SignIn(AuthChallenge {
                status,
                header: String::new(),
                why: Some(why),
                refuses_new_token,
            })
        }
        // The server has not processed the request, and the session is still usable.
        error => LinkError::Declined {
            status,
            text: error.to_string(),
        },
    }
}
