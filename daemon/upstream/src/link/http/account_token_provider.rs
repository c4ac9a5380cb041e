//! Supplies the tokens of an account to the requests to a remote server.
//!
//! Invariant: the account's reason for a missing token reaches the caller. The token itself goes only into the request.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::token_provider::TokenProvider;
use crate::link::link_error::{AuthChallenge, LinkError};
use mux_secrets::Secret;

use mux_auth::{Account, AuthError};

#[derive(Debug)]
pub(crate) struct AccountTokenProvider(pub Arc<Account>);

impl TokenProvider for AccountTokenProvider {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>> {
        Box::pin(async {
            let token = self.0.token().await;
            token
                .map(|token| token.map(|token| bearer_text(&token)))
                .map_err(|error| auth_link_error(error, 401))
        })
    }

    fn held_token(&self) -> Option<String> {
        self.0.held_token().map(|token| bearer_text(&token))
    }

    fn token_refused<'a>(
        &'a self,
        sent_before: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>> {
        Box::pin(async move {
            let header = Some(challenge.header.as_str());
            if challenge.status == 403 {
                return match self.0.handle_forbidden(header).await {
                    Some(error) => Err(auth_link_error(error, 403)),
                    None => Ok(None),
                };
            }
            let before = sent_before.map(Secret::new);
            match self.0.handle_unauthorized(before.as_ref(), header).await {
                Ok(token) => Ok(Some(bearer_text(&token))),
                Err(error) => Err(auth_link_error(error, 401)),
            }
        })
    }

    fn retry_refused<'a>(
        &'a self,
        sent: Option<&'a str>,
        challenge: &'a AuthChallenge,
    ) -> BoxFuture<'a, LinkError> {
        Box::pin(async move {
            let header = Some(challenge.header.as_str());
            match challenge.status {
                403 => match self.0.handle_forbidden(header).await {
                    Some(error) => auth_link_error(error, 403),
                    None => LinkError::SignIn(challenge.clone()),
                },
                _ => auth_link_error(
                    self.0
                        .mark_token_refused(sent.map(Secret::new).as_ref(), header),
                    401,
                ),
            }
        })
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
