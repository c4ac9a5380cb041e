//! A new token for an old one.
//!
//! Invariant: what a refresh brings is put in the place of the very login that it was made with, or nowhere.

use std::sync::Arc;

use futures::FutureExt;
use mux_secrets::Secret;
use tracing::{info, warn};

use super::{
    super::{
        auth_server_client::TokenRequestError,
        error::{AuthError, is_client_rejection},
    },
    Account, LoginCredentials,
};

impl Account {
    /// The token of the refresh that is on its way, of a new one, or of one that was quicker.
    pub(super) async fn refreshed(
        self: &Arc<Self>,
        login: &Arc<LoginCredentials>,
    ) -> Result<Secret, AuthError> {
        let refreshing = {
            let mut held = self.lock_state();
            match (&held.login, &held.refreshing) {
                (_, Some((of, refreshing)))
                    if Arc::ptr_eq(of, login) || held.is_current_login(of) =>
                {
                    refreshing.clone()
                }
                (Some(now), _) if !Arc::ptr_eq(now, login) => {
                    let access = now.secrets.access.clone();
                    return access.ok_or_else(|| AuthError::Required("nobody is signed in".into()));
                }
                _ => {
                    let (this, of) = (Arc::clone(self), Arc::clone(login));
                    let task = tokio::spawn(async move { this.refresh(&of).await });
                    let ending = |_| Err(AuthError::Unavailable("the daemon is ending".into()));
                    let refreshing = task.map(move |done| done.unwrap_or_else(ending));
                    let refreshing = refreshing.boxed().shared();
                    held.refreshing = Some((Arc::clone(login), refreshing.clone()));
                    refreshing
                }
            }
        };
        refreshing.await
    }

    /// The one refresh.
    async fn refresh(&self, login: &Arc<LoginCredentials>) -> Result<Secret, AuthError> {
        let mut next = LoginCredentials::clone(login);
        let outcome = self.exchange_refresh_token(login, &mut next).await;
        if next != **login {
            // Nothing is kept over a login or a logout that came meanwhile.
            let current = self
                .lock_state()
                .is_current_login(login)
                .then(|| self.persist_login(&next));
            if let Some(kept) = current
                && let Err(error) = kept.await
            {
                // The old one may be dead: what we have in our hand is better than nothing.
                warn!(%error, "a refreshed token is not kept");
            }
        }
        let mut held = self.lock_state();
        let refreshing = held.refreshing.as_ref();
        if refreshing.is_some_and(|(of, _)| Arc::ptr_eq(of, login)) {
            held.refreshing = None;
        }
        if held.is_current_login(login) {
            held.login = Some(Arc::new(next));
            if let Err(AuthError::Required(why)) = &outcome {
                held.required = Some(why.clone());
            }
        }
        outcome
    }

    /// Changes the login into the next one; gives the token.
    async fn exchange_refresh_token(
        &self,
        login: &LoginCredentials,
        next: &mut LoginCredentials,
    ) -> Result<Secret, AuthError> {
        let LoginCredentials { record, secrets } = login;
        let Some(token) = &secrets.refresh else {
            return Err(AuthError::Required("the login has ended".into()));
        };
        let endpoints = self.endpoints().await.map_err(AuthError::Unavailable)?;
        let completed = self.add_client_secret(secrets);
        match endpoints.refresh(record, &completed, token).await {
            Ok(grant) => {
                let access = grant.access_token.clone();
                next.record.take(&mut next.secrets, grant, &record.scopes);
                info!(resource = record.key.resource, "token refreshed");
                Ok(access)
            }
            Err(TokenRequestError::Rejected(why)) => {
                if is_client_rejection(&why) {
                    next.record.unregister();
                }
                (next.secrets.refresh, next.record.refreshable) = (None, false);
                Err(AuthError::Required(format!("the login has ended: {why}")))
            }
            Err(TokenRequestError::Failed(why)) => Err(AuthError::Unavailable(why)),
        }
    }

    /// The authorization server no longer knows the client that we registered: the next login registers
    /// another one.
    pub(crate) async fn unregister(&self, client_id: &str) {
        let kept = {
            let mut held = self.lock_state();
            let login = held.login.as_ref();
            let Some(login) = login.filter(|login| login.record.client_id == client_id) else {
                return;
            };
            let mut next = LoginCredentials::clone(login);
            next.record.unregister();
            let kept = self.persist_login(&next);
            held.login = Some(Arc::new(next));
            kept
        };
        if let Err(error) = kept.await {
            warn!(%error, "that a client is no longer known is not kept");
        }
    }
}
