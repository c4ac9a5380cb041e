//! A new token for an old one.
//!
//! Invariant: what a refresh brings is put in the place of the very login that it was made with, or nowhere.

use std::sync::Arc;

use futures::FutureExt;
use mux_secrets::Secret;
use tracing::{info, warn};

use super::{
    super::{
        endpoint::Refusal,
        error::{AuthError, names_client},
    },
    Account, Login,
};

impl Account {
    /// The token of the refresh that is on its way, of a new one, or of one that was quicker.
    pub(super) async fn refreshed(
        self: &Arc<Self>,
        login: &Arc<Login>,
    ) -> Result<Secret, AuthError> {
        let refreshing = {
            let mut held = self.held();
            match (&held.login, &held.refreshing) {
                (_, Some((of, refreshing))) if Arc::ptr_eq(of, login) || held.is(of) => {
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
    async fn refresh(&self, login: &Arc<Login>) -> Result<Secret, AuthError> {
        let mut next = Login::clone(login);
        let outcome = self.exchange(login, &mut next).await;
        if next != **login {
            // Nothing is kept over a login or a logout that came meanwhile.
            let current = self.held().is(login).then(|| self.kept(&next));
            if let Some(kept) = current
                && let Err(error) = kept.await
            {
                // The old one may be dead: what we have in our hand is better than nothing.
                warn!(%error, "a refreshed token is not kept");
            }
        }
        let mut held = self.held();
        let refreshing = held.refreshing.as_ref();
        if refreshing.is_some_and(|(of, _)| Arc::ptr_eq(of, login)) {
            held.refreshing = None;
        }
        if held.is(login) {
            held.login = Some(Arc::new(next));
            if let Err(AuthError::Required(why)) = &outcome {
                held.required = Some(why.clone());
            }
        }
        outcome
    }

    /// Changes the login into the next one; gives the token.
    async fn exchange(&self, login: &Login, next: &mut Login) -> Result<Secret, AuthError> {
        let Login { record, secrets } = login;
        let Some(token) = &secrets.refresh else {
            return Err(AuthError::Required("the login has ended".into()));
        };
        let endpoints = self.endpoints().await.map_err(AuthError::Unavailable)?;
        let completed = self.completed(secrets);
        match endpoints.refresh(record, &completed, token).await {
            Ok(grant) => {
                let access = grant.access_token.clone();
                next.record.take(&mut next.secrets, grant, &record.scopes);
                info!(resource = record.key.resource, "token refreshed");
                Ok(access)
            }
            Err(Refusal::Rejected(why)) => {
                if names_client(&why) {
                    next.record.unregister();
                }
                (next.secrets.refresh, next.record.refreshable) = (None, false);
                Err(AuthError::Required(format!("the login has ended: {why}")))
            }
            Err(Refusal::Failed(why)) => Err(AuthError::Unavailable(why)),
        }
    }

    /// The authorization server no longer knows the client that we registered: the next login registers
    /// another one.
    pub(crate) async fn unregister(&self, client_id: &str) {
        let kept = {
            let mut held = self.held();
            let login = held.login.as_ref();
            let Some(login) = login.filter(|login| login.record.client_id == client_id) else {
                return;
            };
            let mut next = Login::clone(login);
            next.record.unregister();
            let kept = self.kept(&next);
            held.login = Some(Arc::new(next));
            kept
        };
        if let Err(error) = kept.await {
            warn!(%error, "that a client is no longer known is not kept");
        }
    }
}
