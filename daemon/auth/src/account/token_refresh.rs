//! Refreshes a token.
//!
//! Invariant: the result of a refresh replaces the login with which it was made, or is dropped.

use std::sync::Arc;

use futures::FutureExt;
use mux_secrets::Secret;
use tracing::{info, warn};

use super::{
    super::{
        error::{AuthError, is_registration_refusal},
        token_endpoint::TokenRequestError,
    },
    Account, LoginCredentials,
};

impl Account {
    /// Returns the token of the refresh in flight, of a newer login, or of a new refresh.
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
                    return access.ok_or_else(|| AuthError::Required("not signed in".into()));
                }
                (None, _) => return Err(held.absent_login()),
                _ => {
                    let this = Arc::clone(self);
                    let of = Arc::clone(login);
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

    /// Runs the refresh and saves its result.
    async fn refresh(&self, login: &Arc<LoginCredentials>) -> Result<Secret, AuthError> {
        let _turn = self.shared.exchanging.lock().await;
        let login = &match self.latest(login) {
            Ok(login) => login,
            Err(outcome) => return outcome,
        };
        let mut next = LoginCredentials::clone(login);
        let outcome = self.exchange_refresh_token(login, &mut next).await;
        if next != **login {
            // A login or logout that came meanwhile is not overwritten.
            let current = self
                .lock_state()
                .is_current_login(login)
                .then(|| self.persist_login(&next));
            if let Some(kept) = current
                && let Err(error) = kept.await
            {
                // The old token may be invalid: use the new token even though it is not saved.
                warn!(%error, "failed to save a refreshed token");
            }
        }
        let mut held = self.lock_state();
        let refreshing = held.refreshing.as_ref();
        if refreshing.is_some_and(|(of, _)| Arc::ptr_eq(of, login)) {
            held.refreshing = None;
        }
        if held.is_current_login(login) {
            held.login = Some(Arc::new(next));
            if let Err(error @ AuthError::Required(_)) = &outcome {
                held.required = Some(error.clone());
            }
        }
        outcome
    }

    /// The login with its present refresh token: while a refresh waits for its turn, the token may be exchanged for the
    /// token of another server. If the user has signed in or out meanwhile, the outcome of the refresh: the refresh
    /// token of a replaced login may be used up, and presenting it could end the new login.
    fn latest(
        &self,
        login: &Arc<LoginCredentials>,
    ) -> Result<Arc<LoginCredentials>, Result<Secret, AuthError>> {
        let held = self.lock_state();
        match &held.login {
            Some(now) if now.secrets.access == login.secrets.access => Ok(Arc::clone(now)),
            Some(now) => {
                let access = now.secrets.access.clone();
                Err(access.ok_or_else(|| AuthError::Required("not signed in".into())))
            }
            None => Err(Err(held.absent_login())),
        }
    }

    /// Updates `next` from the token response. Returns the new token.
    async fn exchange_refresh_token(
        &self,
        login: &LoginCredentials,
        next: &mut LoginCredentials,
    ) -> Result<Secret, AuthError> {
        let LoginCredentials { record, secrets } = login;
        let granted = match (&record.shares, &secrets.refresh) {
            (Some(_), _) if record.refreshable => self.borrow_token(record).await,
            (None, Some(token)) => {
                let endpoints = self
                    .endpoints_of(record)
                    .await
                    .map_err(AuthError::Unavailable)?;
                endpoints
                    .refresh(record, &self.credentials(login), token)
                    .await
            }
            _ => {
                let why = record.ended.clone();
                return Err(AuthError::Required(
                    why.unwrap_or_else(|| "the login has ended".into()),
                ));
            }
        };
        let resource = &record.key.resource;
        match granted {
            Ok(grant) => {
                let access = grant.access.clone();
                next.record.take(&mut next.secrets, grant, &record.scopes);
                info!(resource, "token refreshed");
                Ok(access)
            }
            Err(error) if error.ends_login(record.shares.is_some()) => {
                let why = error.into_words();
                if is_registration_refusal(&why) && record.is_of_own_client() {
                    // The entry may be wrong, and the refresh token is good.
                    return Err(AuthError::Required(format!(
                        "the authorization server does not accept the client of the entry: {why}"
                    )));
                }
                if is_registration_refusal(&why) {
                    next.record.unregister();
                }
                let mut why = format!("the login has ended: {why}");
                if let Some(other) = &record.presented_for {
                    why = format!(
                        "{why}; its refresh token was presented for {other} before, which the authorization server \
                         refused"
                    );
                }
                warn!(resource, why, "a login has ended");
                (next.secrets.refresh, next.record.refreshable) = (None, false);
                next.record.ended = Some(why.clone());
                Err(AuthError::Required(why))
            }
            Err(error @ (TokenRequestError::WrongTarget(_) | TokenRequestError::Refused(_)))
                if record.is_over() =>
            {
                let why = error.into_words();
                Err(AuthError::Required(format!(
                    "the token was not refreshed: {why}"
                )))
            }
            Err(error) => Err(AuthError::Unavailable(error.into_words())),
        }
    }
}
