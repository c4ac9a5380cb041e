//! The requests of a user who has signed in, or may have to.
//!
//! Invariant: what the account says of the token is what the caller is told; the token itself goes into the
//! request and nowhere else.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{
    authorization::Authorization,
    error::{Challenge, LinkError},
};
use mux_secrets::Secret;

use mux_auth::{Account, AuthError};

#[derive(Debug)]
pub(crate) struct Signed(pub Arc<Account>);

impl Authorization for Signed {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, LinkError>> {
        Box::pin(async {
            let token = self.0.token().await;
            token
                .map(|token| token.map(sent))
                .map_err(|error| failed(error, 401))
        })
    }

    fn refused<'a>(
        &'a self,
        sent_before: Option<&'a str>,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<Option<String>, LinkError>> {
        Box::pin(async move {
            let header = Some(challenge.header.as_str());
            if challenge.status == 403 {
                return match self.0.forbidden(header).await {
                    Some(error) => Err(failed(error, 403)),
                    None => Ok(None),
                };
            }
            let before = sent_before.map(Secret::new);
            match self.0.rejected(before.as_ref(), header).await {
                Ok(token) => Ok(Some(sent(token))),
                Err(error) => Err(failed(error, 401)),
            }
        })
    }

    fn given_up<'a>(
        &'a self,
        sent: Option<&'a str>,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, LinkError> {
        Box::pin(async move {
            let header = Some(challenge.header.as_str());
            match challenge.status {
                403 => match self.0.forbidden(header).await {
                    Some(error) => failed(error, 403),
                    None => LinkError::SignIn(challenge.clone()),
                },
                _ => failed(self.0.refused(sent.map(Secret::new).as_ref(), header), 401),
            }
        })
    }
}

fn sent(token: Secret) -> String {
    token.expose().to_owned()
}

fn failed(error: AuthError, status: u16) -> LinkError {
    match error {
        AuthError::Required(why) => LinkError::SignIn(Challenge {
            status,
            header: String::new(),
            why: Some(why),
        }),
        // Nothing was taken, and the session is as good as it was.
        error => LinkError::Declined {
            status,
            text: error.to_string(),
        },
    }
}
