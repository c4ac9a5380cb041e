//! One sign-in for several servers: a login without its own refresh token uses the refresh token of another login with
//! the same issuer, client and account, and gets tokens with its server as their audience (RFC 8707).
//!
//! An issuer may use up a refresh token before it refuses an exchange, and then end the login to which it belongs (RFC
//! 9700, 4.14). So a server shares only if its entry says so, and only a sign-in that was granted for it. An issuer
//! that refused once is not asked again.
//!
//! Invariant: such a token is used only if it is a JSON web token whose audiences include its own server, but neither
//! the other server nor a third server with a login. Any other token is dropped unused, because each server could use
//! it at another.

use std::sync::Arc;

use futures::FutureExt as _;
use mux_http::token_endpoint::TokenGrant;
use mux_secrets::Secret;
use tracing::{debug, info};

use super::{
    super::{
        discovery,
        error::AuthError,
        identity,
        issuer_bindings::is_same_issuer,
        login_record::{LoginKey, LoginRecord, LoginSecrets, is_same_resource},
        token_endpoint::TokenRequestError,
    },
    Account, LoginCredentials,
};

/// The age in seconds up to which a refusal of a refresh token is attributed to the other server for which it was
/// presented.
const NEW_SIGN_IN_SECS: u64 = 60 * 60;

impl Account {
    /// The token of a shared sign-in, for a server without a login. `None` if there is no sign-in that it may share.
    /// Concurrent callers share one attempt. A refused attempt is not repeated until another login or a refresh could
    /// change its outcome. An attempt that failed for another reason is repeated by the next caller.
    pub(crate) async fn shared_sign_in(self: &Arc<Self>) -> Option<Secret> {
        let lenders = self.lenders();
        let joining = {
            let mut held = self.lock_state();
            if let Some(login) = &held.login {
                return login.secrets.access.clone();
            }
            if held.is_saving || lenders.is_empty() || held.unshared_with == lenders {
                return None;
            }
            if let Some(joining) = &held.joining {
                joining.clone()
            } else {
                let this = Arc::clone(self);
                let task = tokio::spawn(async move { this.join_sign_in(lenders).await });
                let joining = task.map(|done| done.ok().flatten()).boxed().shared();
                held.joining = Some(joining.clone());
                joining
            }
        };
        joining.await
    }

    async fn join_sign_in(self: Arc<Self>, lenders: Vec<LoginRecord>) -> Option<Secret> {
        let joined = match self.borrow_first_token(&lenders).await {
            Ok(login) => self.save_shared_login(login).await,
            Err(error) => Err(error),
        };
        let mut held = self.lock_state();
        held.joining = None;
        joined.unwrap_or_else(|error| {
            debug!(resource = self.key.resource, %error, "no sign-in can be shared");
            if matches!(error, AuthError::Denied(_) | AuthError::Unfit(_)) {
                held.unshared_with = lenders;
            }
            None
        })
    }

    /// Saves the login, unless the user has signed in or out meanwhile.
    async fn save_shared_login(
        &self,
        login: LoginCredentials,
    ) -> Result<Option<Secret>, AuthError> {
        if let Some(own) = self.login().await {
            return Ok(own.secrets.access.clone());
        }
        let mut ids = self.lenders().into_iter().map(|lender| lender.id());
        if self.lock_state().is_saving || !ids.any(|id| Some(id) == login.record.shares) {
            return Ok(None);
        }
        let access = login.secrets.access.clone();
        let LoginRecord {
            issuer, audience, ..
        } = &login.record;
        info!(audience, issuer, "shares a sign-in");
        self.save_login(login).await.map(|()| access)
    }

    async fn borrow_first_token(
        &self,
        lenders: &[LoginRecord],
    ) -> Result<LoginCredentials, AuthError> {
        let found = discovery::discover(self).await?;
        let unfit = |why: &str| AuthError::Unfit(why.into());
        if !found.has_resource_metadata {
            return Err(unfit("the server has no resource metadata"));
        }
        if self.key.is_own_client()
            && let Some(known) = self.remembered_issuer().await?
            && !is_same_issuer(&known, &found.issuer)
        {
            return Err(unfit("its client belongs to another issuer"));
        }
        if self.is_unshareable(&found.issuer).await {
            return Err(unfit("its authorization server does not share sign-ins"));
        }
        let lender = lenders
            .iter()
            .filter(|lender| lender.issuer == found.issuer)
            .filter(|lender| lender.is_granted_for(&found.resource))
            .max_by_key(|lender| lender.received_at)
            .ok_or_else(|| unfit("no sign-in was granted for it"))?;
        let mut record = LoginRecord {
            key: self.key.clone(),
            audience: found.resource,
            resources: Vec::new(),
            shares: Some(lender.id()),
            wanted: Vec::new(),
            ..lender.clone()
        };
        let mut secrets = LoginSecrets::default();
        match self.borrow_token(&record).await {
            Ok(grant) => {
                record.take(&mut secrets, grant, &lender.scopes);
                Ok(LoginCredentials { record, secrets })
            }
            Err(TokenRequestError::Failed(why) | TokenRequestError::Malformed(why)) => {
                Err(AuthError::Unavailable(why))
            }
            Err(refusal) => Err(AuthError::Denied(refusal.into_words())),
        }
    }

    /// The logins of other servers that this server may share.
    fn lenders(&self) -> Vec<LoginRecord> {
        if !self.entry_options().share {
            return Vec::new();
        }
        let mut lenders = self.store.lenders(&self.key, self.issuer.as_deref());
        lenders.retain(|lender| lender.resources.len() > 1);
        lenders
    }

    /// Returns true if the other server may use this sign-in: its entry shares, and has the same client and account.
    pub(crate) fn may_share_with(&self, other: &Self) -> bool {
        let of_server = LoginKey {
            resource: other.key.resource.clone(),
            ..self.key.clone()
        };
        other.entry_options().share && of_server == other.key && self.key != other.key
    }

    /// Requests a token for this login with the refresh token that it shares.
    pub(super) async fn borrow_token(
        &self,
        record: &LoginRecord,
    ) -> Result<TokenGrant, TokenRequestError> {
        let over = || TokenRequestError::Rejected("the sign-in that it shared has ended".into());
        let lender = record.shares.as_deref().and_then(|id| self.store.by_id(id));
        let lender = lender.ok_or_else(over)?;
        let account = self.accounts().ok_or_else(over)?.of_record(&lender, self);
        let grant = match account.lend_token(record).await {
            Ok(grant) => grant,
            Err(error) => {
                let why = match &error {
                    TokenRequestError::WrongTarget(why) | TokenRequestError::Refused(why) => why,
                    // A refresh token does not expire by itself so soon.
                    TokenRequestError::Rejected(why) if lender.age() < NEW_SIGN_IN_SECS => why,
                    _ => return Err(error),
                };
                self.remember_unshareable(&record.issuer, why).await;
                return Err(error);
            }
        };
        let known = self.store.all_records();
        if is_for_borrower(&grant.access, record, &lender, &known) {
            Ok(grant)
        } else {
            let why = "the authorization server issues no token for this server alone";
            self.remember_unshareable(&record.issuer, why).await;
            Err(TokenRequestError::WrongTarget(why.into()))
        }
    }

    /// Exchanges this login's refresh token for a token for the borrower. A new refresh token is on disk before the
    /// token is used.
    async fn lend_token(&self, borrower: &LoginRecord) -> Result<TokenGrant, TokenRequestError> {
        let failed = |why: &str| TokenRequestError::Failed(why.into());
        let _turn = self.shared.exchanging.lock().await;
        let login = self.login().await;
        let login = login.filter(|login| Some(login.record.id()) == borrower.shares);
        let login = login.ok_or_else(|| failed("the sign-in that it shares has changed"))?;
        let Some(token) = &login.secrets.refresh else {
            return Err(TokenRequestError::Rejected("the login has ended".into()));
        };
        let endpoints = self
            .endpoints_of(&login.record)
            .await
            .map_err(|why| failed(&why))?;
        let asked = LoginRecord {
            audience: borrower.audience.clone(),
            ..login.record.clone()
        };
        let outcome = endpoints
            .refresh(&asked, &self.credentials(&login), token)
            .await;
        let mut grant = match outcome {
            Ok(grant) => grant,
            Err(error @ (TokenRequestError::Failed(_) | TokenRequestError::Malformed(_))) => {
                return Err(error);
            }
            Err(refusal) => {
                // The issuer may have used up the token before it refused.
                self.change_login("that a refresh token was refused", |login| {
                    login.record.presented_for = Some(borrower.audience.clone());
                })
                .await;
                return Err(refusal);
            }
        };
        grant.who = login.record.who.clone();
        if let Some(next) = grant.refresh.take() {
            self.change_login("a refresh token", |login| {
                if login.secrets.refresh.as_ref() == Some(token) {
                    login.secrets.refresh = Some(next);
                }
            })
            .await;
        }
        Ok(grant)
    }

    /// Ends the logins that share this login. After another sign-in they belong to its user, and join it again.
    pub(crate) async fn end_borrowers(&self, id: &str) -> Result<(), AuthError> {
        for record in self.store.borrowers(id) {
            if let Some(accounts) = self.accounts() {
                accounts.forget(&record);
            }
            self.store.forget(&record).await?;
        }
        Ok(())
    }
}

/// True if a token is for the borrower, and useless at the lender's server and the servers of the known logins.
fn is_for_borrower(
    token: &Secret,
    borrower: &LoginRecord,
    lender: &LoginRecord,
    known: &[LoginRecord],
) -> bool {
    let Some(claims) = identity::claims(token.expose()) else {
        return false;
    };
    let names = |resource: &str| {
        identity::audiences(&claims).any(|audience| is_same_resource(audience, resource))
    };
    let is_of_borrower = |resource: &str| {
        let own = [&borrower.audience, &borrower.key.resource];
        own.iter().any(|own| is_same_resource(own, resource))
    };
    let resources = |login: &LoginRecord| [login.audience.clone(), login.key.resource.clone()];
    let mut foreign = known
        .iter()
        .flat_map(resources)
        .filter(|resource| !is_of_borrower(resource))
        .chain(resources(lender));
    names(&borrower.audience) && !foreign.any(|resource| names(&resource))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{identity::tests::web_token, login_record::tests::record};

    #[test]
    fn token_is_used_only_if_its_audience_is_the_borrower_alone() {
        let lender = record(None, 0);
        let borrower = LoginRecord {
            key: LoginKey {
                resource: "https://other.test/mcp".into(),
                ..lender.key.clone()
            },
            audience: "https://other.test/mcp".into(),
            ..lender.clone()
        };
        let third = LoginRecord {
            key: LoginKey {
                resource: "https://third.test/mcp".into(),
                ..lender.key.clone()
            },
            audience: "https://third.test".into(),
            ..lender.clone()
        };
        // Another account of the borrower's server.
        let beside = LoginRecord {
            key: LoginKey {
                account: Some("work".into()),
                ..borrower.key.clone()
            },
            ..borrower.clone()
        };
        let known = [lender.clone(), borrower.clone(), third, beside];
        let is_used = |token: &Secret| is_for_borrower(token, &borrower, &lender, &known);
        for (audience, used) in [
            (json!("https://other.test/mcp"), true),
            (
                json!(["https://other.test/mcp/", "https://issuer.test/userinfo"]),
                true,
            ),
            (json!("https://server.test/mcp"), false),
            (
                json!(["https://other.test/mcp", "https://server.test/mcp"]),
                false,
            ),
            (
                json!(["https://other.test/mcp", "https://third.test/mcp"]),
                false,
            ),
            (
                json!(["https://other.test/mcp", "https://third.test/"]),
                false,
            ),
            (json!("https://other.test"), false),
            (json!(null), false),
        ] {
            let token = web_token(&json!({ "aud": audience }));
            assert_eq!(is_used(&token), used, "{audience}");
        }
        assert!(!is_used(&Secret::new("opaque")));
    }
}
