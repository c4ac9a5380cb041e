//! The user's login at one server: the token for the next request, and the handling of a refused token.
//!
//! Invariant: at most one exchange of a refresh token is in flight, and its token is on disk before it is used. A
//! refresh continues if its callers are dropped, because the old token may already be invalid.

mod shared_sign_in;
mod token_refresh;

use std::{
    fmt,
    sync::{Arc, Weak},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use mux_http::{
    address_policy::PartyNetwork,
    token_endpoint::{ClientAuthMethod, ClientCredentials},
};
pub use mux_messages::AuthState as LoginStatus;
use mux_secrets::Secret;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;
use tracing::warn;
use url::Url;

use super::{
    accounts::AccountsInUse,
    auth_server_client::AuthServerClient,
    challenge::BearerChallenge,
    credential_store::CredentialStore,
    discovery,
    error::AuthError,
    issuer_bindings::{IssuerBindings, is_same_issuer},
    login_record::{LoginKey, LoginRecord, LoginSecrets, canonical, union},
};

/// A token counts as just issued for this time, in seconds.
const JUST_ISSUED_SECS: u64 = 60;

type SharedRefresh = Shared<BoxFuture<'static, Result<Secret, AuthError>>>;

/// The tokens for one server, shared by all its sessions.
pub struct Account {
    pub(super) key: LoginKey,
    pub(super) server: Url,
    pub(super) store: Arc<CredentialStore>,
    entry: Mutex<EntryOptions>,
    issuers: Arc<IssuerBindings>,
    /// The secret of a client that the user registered. Not stored with the tokens.
    client_secret: Option<Secret>,
    /// The issuer in the entry, if any. Tokens of other issuers are not used.
    issuer: Option<String>,
    shared: Arc<SharedState>,
    accounts: Weak<AccountsInUse>,
}

/// The settings of a server's entry that may change without another login.
#[derive(Clone)]
pub(super) struct EntryOptions {
    pub(super) network: Arc<mux_settings::NetworkSettings>,
    /// The authentication method of the user's own client, if the entry names one.
    pub(super) client_auth: Option<ClientAuthMethod>,
    /// Allows the server to use the sign-in of another server.
    pub(super) share: bool,
}

/// The state that the accounts of one login share: entries of one server, some of which may name the issuer.
#[derive(Default)]
pub(super) struct SharedState {
    held: Mutex<AccountState>,
    /// The turn to exchange the refresh token, which each exchange may replace.
    exchanging: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct AccountState {
    /// Set once the store was read.
    looked: bool,
    login: Option<Arc<LoginCredentials>>,
    /// The refresh in flight, with the login that it refreshes.
    refreshing: Option<(Arc<LoginCredentials>, SharedRefresh)>,
    /// The attempt in flight to share the sign-in of another server.
    joining: Option<Shared<BoxFuture<'static, Option<Secret>>>>,
    /// The logins with which the last such attempt failed.
    unshared_with: Vec<LoginRecord>,
    /// The reason the user must sign in.
    required: Option<AuthError>,
    /// Set if no session was opened since the user signed in to this server.
    is_unproven: bool,
    /// The `WWW-Authenticate` of the last answer that required a login.
    challenge: Option<String>,
    /// Set if the last login ended without a redirect, or with a refusal of its request.
    lacked_answer: bool,
    /// Set while a login is being saved.
    is_saving: bool,
}

/// A login with its secrets.
#[derive(Clone, PartialEq)]
pub(super) struct LoginCredentials {
    pub(super) record: LoginRecord,
    pub(super) secrets: LoginSecrets,
}

/// The arguments of [`Account::new`].
pub(super) struct AccountParts {
    pub(super) key: LoginKey,
    pub(super) server: Url,
    pub(super) store: Arc<CredentialStore>,
    pub(super) issuers: Arc<IssuerBindings>,
    pub(super) client_secret: Option<Secret>,
    pub(super) issuer: Option<String>,
    pub(super) entry: EntryOptions,
}

impl Account {
    pub(super) fn new(
        parts: AccountParts,
        shared: Arc<SharedState>,
        accounts: Weak<AccountsInUse>,
    ) -> Self {
        Self {
            key: parts.key,
            server: parts.server,
            store: parts.store,
            issuers: parts.issuers,
            entry: Mutex::new(parts.entry),
            client_secret: parts.client_secret,
            issuer: parts.issuer,
            shared,
            accounts,
        }
    }

    pub(super) fn shared_state(&self) -> &Arc<SharedState> {
        &self.shared
    }

    /// True if a login of this issuer is, or can become, the login of this account.
    pub(super) fn allows_issuer(&self, issuer: &str) -> bool {
        let is_same = |known: &str| is_same_issuer(known, issuer);
        let login = self.known_record();
        self.issuer.as_deref().is_none_or(is_same)
            && login.is_none_or(|login| is_same(&login.issuer))
    }

    /// The parts of an account for the login of another server, with the same client and network.
    pub(super) fn parts_for(&self, record: &LoginRecord) -> AccountParts {
        AccountParts {
            key: record.key.clone(),
            server: canonical(&record.key.resource).unwrap_or_else(|| self.server.clone()),
            store: Arc::clone(&self.store),
            issuers: Arc::clone(&self.issuers),
            client_secret: self.client_secret.clone(),
            issuer: Some(record.issuer.clone()),
            entry: self.entry_options(),
        }
    }

    fn accounts(&self) -> Option<Arc<AccountsInUse>> {
        self.accounts.upgrade()
    }

    pub(super) fn entry_options(&self) -> EntryOptions {
        self.entry.lock().clone()
    }

    /// Uses other settings for further requests.
    pub(super) fn use_entry(&self, entry: &EntryOptions) {
        let before = std::mem::replace(&mut *self.entry.lock(), entry.clone());
        if before.client_auth != entry.client_auth {
            // The authorization server may accept the client now.
            self.lock_state().required = None;
        }
    }

    /// A client for the endpoints that a server in this network names.
    pub(super) async fn endpoints(&self, party: PartyNetwork) -> Result<AuthServerClient, String> {
        let network = self.entry_options().network;
        AuthServerClient::of(&self.server, &network, party).await
    }

    /// A client for the endpoints of a login.
    pub(super) async fn endpoints_of(
        &self,
        record: &LoginRecord,
    ) -> Result<AuthServerClient, String> {
        let party = match record.private {
            Some(true) => PartyNetwork::Private,
            Some(false) => PartyNetwork::Elsewhere,
            None => PartyNetwork::Unknown,
        };
        let endpoints = self.endpoints(party).await?;
        if endpoints.party_network() == PartyNetwork::Unknown {
            // A login of an earlier version: the server's answer tells its network.
            drop(discovery::request_challenge(&endpoints, &self.server).await);
        }
        Ok(endpoints)
    }

    /// The token for the next request. `None` if the user has not signed in, which the server may not require.
    pub async fn token(self: &Arc<Self>) -> Result<Option<Secret>, AuthError> {
        let Some(login) = self.login().await else {
            return Ok(None);
        };
        if let Some(error) = self.lock_state().required.clone() {
            return Err(error);
        }
        let Some(access) = &login.secrets.access else {
            return Err(self.require_login("no longer signed in"));
        };
        let record = &login.record;
        if !record.is_stale() || (!record.refreshable && !record.is_over()) {
            return Ok(Some(access.clone()));
        }
        match self.refreshed(&login).await {
            Err(AuthError::Unavailable(why)) if !record.is_over() => {
                warn!(
                    why,
                    "token refresh failed; using the old token until it expires"
                );
                Ok(Some(access.clone()))
            }
            outcome => outcome.map(Some),
        }
    }

    /// The current access token, which may have expired. Does not refresh it.
    pub fn held_token(&self) -> Option<Secret> {
        let held = self.lock_state();
        held.login.as_ref()?.secrets.access.clone()
    }

    /// Waits until no refresh token is being exchanged.
    pub(super) async fn finish_exchanges(&self) {
        let (refreshing, joining) = {
            let held = self.lock_state();
            let refreshing = held.refreshing.as_ref().map(|(_, refresh)| refresh.clone());
            (refreshing, held.joining.clone())
        };
        // The requests that need the token handle the results.
        if let Some(refreshing) = refreshing {
            drop(refreshing.await);
        }
        if let Some(joining) = joining {
            drop(joining.await);
        }
    }

    /// Handles a 401 response to a request with this token, or without one. Returns the token for the retry.
    pub async fn handle_unauthorized(
        self: &Arc<Self>,
        token: Option<&Secret>,
        challenge: Option<&str>,
    ) -> Result<Secret, AuthError> {
        self.remember_challenge(challenge);
        let Some(login) = self.login().await else {
            let unread = self.store.problem();
            if unread.is_none()
                && let Some(token) = self.shared_sign_in().await
            {
                return Ok(token);
            }
            return Err(self.require_login(unread.as_deref().unwrap_or("not signed in")));
        };
        match &login.secrets.access {
            // Another request has already refreshed the token.
            Some(access) if Some(access) != token && !login.record.is_over() => Ok(access.clone()),
            Some(_)
                if !login.record.refreshable
                    && !login.record.is_over()
                    && login.record.ended.is_none() =>
            {
                Err(self.mark_token_refused(token, challenge))
            }
            _ => self.refreshed(&login).await,
        }
    }

    /// Handles a 401 response to a token that cannot be replaced by a refresh.
    pub fn mark_token_refused(&self, token: Option<&Secret>, challenge: Option<&str>) -> AuthError {
        self.remember_challenge(challenge);
        // The header may repeat the token, and long texts are cut.
        let header = challenge.unwrap_or_default();
        let header = token.map_or_else(|| header.to_owned(), |token| token.hidden_in(header));
        let challenge = BearerChallenge::parse(&header, &self.server);
        let described = challenge.error_description.or(challenge.error);
        let mut held = self.lock_state();
        let login = held.login.as_ref();
        let is_new = login.is_some_and(|login| login.record.age() < JUST_ISSUED_SECS);
        let mut why = if is_new {
            "the server does not accept the token that was just issued".to_owned()
        } else {
            "the server does not accept its token".to_owned()
        };
        if let Some(described) = described {
            why = format!("{why}: {described}");
        }
        let error = if held.is_unproven && is_new {
            AuthError::TokenRefused(why)
        } else {
            // The server did accept tokens, and may do so again after another login.
            AuthError::Required(why)
        };
        // The user may have signed in meanwhile.
        if login.and_then(|login| login.secrets.access.as_ref()) == token {
            held.required = Some(error.clone());
        }
        error
    }

    /// Handles a 403 response. `None` if the reason is not a missing scope.
    pub async fn handle_forbidden(&self, challenge: Option<&str>) -> Option<AuthError> {
        let challenge = BearerChallenge::parse(challenge?, &self.server);
        if challenge.error.as_deref() != Some("insufficient_scope") {
            return None;
        }
        let mut lacking = challenge.scopes;
        if let Some(login) = self.login().await {
            lacking.retain(|scope| !login.record.scopes.contains(scope));
            self.remember_wanted_scopes(&lacking).await;
        }
        Some(AuthError::Required(if lacking.is_empty() {
            "the login does not allow that".into()
        } else {
            format!("the login lacks the scope {}", lacking.join(" "))
        }))
    }

    /// The login status of the user. `None` if the server has not required a login so far.
    pub fn login_status(&self) -> Option<LoginStatus> {
        {
            let held = self.lock_state();
            if held.required.is_some() {
                return Some(LoginStatus::Required);
            }
            if held.looked {
                let login = held.login.as_ref().filter(|login| self.accepts(login));
                return login.map(|login| login.record.status());
            }
        }
        self.find_record().map(|record| record.status())
    }

    /// A warning if the login lacks scopes that the server has requested.
    pub fn scope_warning(&self) -> Option<String> {
        let record = self.known_record()?;
        let lacking: Vec<&str> = record
            .wanted
            .iter()
            .filter(|scope| !record.scopes.contains(scope))
            .map(String::as_str)
            .collect();
        let lacks = !lacking.is_empty();
        lacks.then(|| format!("the login lacks the scope {}", lacking.join(" ")))
    }

    /// The user who has signed in, if the authorization server says so.
    pub fn who(&self) -> Option<String> {
        self.known_record()?.who
    }

    /// The reason the login has ended, if it has.
    pub fn ended_reason(&self) -> Option<String> {
        self.known_record()?.ended
    }

    /// True if both use one sign-in: they have the same login, or one shares the other's login.
    pub fn shares_sign_in_with(&self, other: &Self) -> bool {
        let sign_in = |account: &Self| {
            let record = account.known_record()?;
            Some(record.shares.clone().unwrap_or_else(|| record.id()))
        };
        let own = sign_in(self);
        own.is_some() && own == sign_in(other)
    }

    /// The login without its secrets.
    pub(super) fn known_record(&self) -> Option<LoginRecord> {
        let held = self.lock_state().login.clone();
        match held.filter(|login| self.accepts(login)) {
            Some(login) => Some(login.record.clone()),
            None => self.find_record(),
        }
    }

    pub(super) fn challenge(&self) -> Option<String> {
        self.lock_state().challenge.clone()
    }

    /// The login, read from the store if necessary.
    pub(super) async fn login(&self) -> Option<Arc<LoginCredentials>> {
        {
            let held = self.lock_state();
            if held.looked {
                let login = held.login.clone();
                return login.filter(|login| self.accepts(login));
            }
        }
        let record = self.find_record();
        let login = match record {
            Some(record) => {
                if let Ok(secrets) = self.store.secrets(&record).await {
                    secrets.map(|secrets| Arc::new(LoginCredentials { record, secrets }))
                } else {
                    self.require_login("the keyring that holds its token does not answer");
                    return None;
                }
            }
            None => None,
        };
        let unreadable = self.store.problem().is_some();
        let mut held = self.lock_state();
        // The user may have signed in meanwhile.
        if !held.looked && !unreadable {
            held.looked = true;
            if login.is_some() {
                held.required = None;
            }
            held.login = login;
        }
        let login = held.login.clone();
        login.filter(|login| self.accepts(login))
    }

    /// True if the login is of the issuer in the entry. An entry without an issuer has the same state.
    fn accepts(&self, login: &LoginCredentials) -> bool {
        let issuer = self.issuer.as_deref();
        issuer.is_none_or(|issuer| is_same_issuer(issuer, &login.record.issuer))
    }

    fn find_record(&self) -> Option<LoginRecord> {
        self.store.find(&self.key, self.issuer.as_deref())
    }

    /// Uses the records of issuers on a thread that may wait for the disk.
    async fn with_issuers<T: Send + 'static>(
        &self,
        work: impl FnOnce(&IssuerBindings) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let issuers = Arc::clone(&self.issuers);
        let done = spawn_blocking(move || work(&issuers)).await;
        let done = done.unwrap_or_else(|_| Err("the daemon is ending".into()));
        done.map_err(AuthError::Store)
    }

    /// The issuer of the user's own client: the issuer of its first login.
    pub(super) async fn remembered_issuer(&self) -> Result<Option<String>, AuthError> {
        let key = self.key.of_client();
        let found = self.with_issuers(move |issuers| issuers.find(&key)).await?;
        Ok(found.or_else(|| Some(self.store.find(&self.key, None)?.issuer)))
    }

    /// Saves the issuer of the user's own client. Does nothing for clients that muxd has registered.
    pub(super) async fn remember_issuer(&self, issuer: &str) -> Result<(), AuthError> {
        if !self.key.is_own_client() {
            return Ok(());
        }
        let key = self.key.of_client();
        let issuer = issuer.to_owned();
        self.with_issuers(move |issuers| issuers.remember(&key, &issuer))
            .await
    }

    /// Returns true if this issuer has refused to share a sign-in, or if the record of that cannot be read.
    pub(super) async fn is_unshareable(&self, issuer: &str) -> bool {
        let issuer = issuer.to_owned();
        let known = self.with_issuers(move |issuers| issuers.is_unshareable(&issuer));
        known.await.unwrap_or(true)
    }

    /// Saves that this issuer has refused to share a sign-in.
    pub(super) async fn remember_unshareable(&self, issuer: &str, why: &str) {
        warn!(
            issuer,
            why, "the authorization server does not share sign-ins"
        );
        let issuer = issuer.to_owned();
        let saved = self.with_issuers(move |issuers| issuers.remember_unshareable(&issuer));
        if let Err(error) = saved.await {
            warn!(
                %error,
                "failed to save that an authorization server does not share sign-ins"
            );
        }
    }

    pub(super) fn lacked_answer(&self) -> bool {
        self.lock_state().lacked_answer
    }

    /// Notes that a login with this client got no usable answer. The next login registers a new client and checks the
    /// page. Saving this may wait for a refresh.
    pub(super) fn give_up_registration(self: &Arc<Self>, client_id: &str) {
        self.lock_state().lacked_answer = true;
        let account = Arc::clone(self);
        let client_id = client_id.to_owned();
        tokio::spawn(async move { account.unregister(&client_id).await });
    }

    /// Saves a new login, and then uses it.
    pub(super) async fn save_login(&self, login: LoginCredentials) -> Result<(), AuthError> {
        self.remember_issuer(&login.record.issuer).await?;
        let kept = {
            let mut held = self.lock_state();
            // The result of a refresh in flight is ignored from here on.
            (held.looked, held.login, held.is_saving) = (true, None, true);
            match login.record.shares {
                None => self
                    .store
                    .save(login.record.clone(), login.secrets.clone())
                    .boxed(),
                Some(_) => self.persist_login(&login).boxed(),
            }
        };
        if let Err(error) = kept.await {
            // The previous login is still in the store.
            self.forget_cached();
            return Err(error);
        }
        let is_unproven = login.record.shares.is_none();
        *self.lock_state() = AccountState {
            looked: true,
            login: Some(Arc::new(login)),
            is_unproven,
            ..AccountState::default()
        };
        Ok(())
    }

    /// Notes that a session was opened after a login.
    pub(super) fn set_proven(&self) {
        self.lock_state().is_unproven = false;
    }

    /// Forgets the login.
    pub(super) fn forget(&self) {
        *self.lock_state() = AccountState {
            looked: true,
            ..AccountState::default()
        };
    }

    /// Reads the login from the store again when it is next needed.
    pub(super) fn forget_cached(&self) {
        *self.lock_state() = AccountState::default();
    }

    #[cfg(test)]
    pub(super) fn own_secret(&self) -> Option<Secret> {
        self.client_secret.clone()
    }

    /// The client of a login, with the entry's secret and method.
    pub(super) fn credentials(&self, login: &LoginCredentials) -> ClientCredentials {
        let LoginCredentials { record, secrets } = login;
        match &self.client_secret {
            Some(own) => record.credentials(Some(own.clone()), self.entry_options().client_auth),
            None => record.credentials(secrets.client.clone(), None),
        }
    }

    /// Saves the scopes that the server has requested, for the next login.
    async fn remember_wanted_scopes(&self, scopes: &[String]) {
        let _turn = self.shared.exchanging.lock().await;
        self.change_login("the scopes that a server requires", |login| {
            login.record.wanted = union(&login.record.wanted, scopes);
        })
        .await;
    }

    /// Drops the registration of a client that the authorization server no longer knows: the next login registers a new
    /// client.
    async fn unregister(&self, client_id: &str) {
        let _turn = self.shared.exchanging.lock().await;
        self.change_login("that a client is no longer registered", |login| {
            if login.record.client_id == client_id {
                login.record.unregister();
            }
        })
        .await;
    }

    /// Changes the login and saves it. The caller must have the turn to exchange the refresh token. Otherwise the
    /// change could bring back the tokens before a refresh. A refresh that waits for its turn continues with the
    /// changed login. `what` is for the log.
    async fn change_login(&self, what: &str, change: impl FnOnce(&mut LoginCredentials)) {
        let kept = {
            let mut held = self.lock_state();
            let AccountState {
                login: Some(login),
                refreshing,
                ..
            } = &mut *held
            else {
                return;
            };
            let mut changed = LoginCredentials::clone(login);
            change(&mut changed);
            if changed == **login {
                return;
            }
            let kept = self.persist_login(&changed);
            let changed = Arc::new(changed);
            if let Some((of, _)) = refreshing
                && Arc::ptr_eq(of, login)
            {
                *of = Arc::clone(&changed);
            }
            *login = changed;
            kept
        };
        if let Err(error) = kept.await {
            warn!(%error, "failed to save {what}");
        }
    }

    /// Saves a change of the login that the user has not made.
    fn persist_login(
        &self,
        login: &LoginCredentials,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let LoginCredentials { record, secrets } = login.clone();
        self.store.update(record, secrets)
    }

    fn remember_challenge(&self, challenge: Option<&str>) {
        let Some(challenge) = challenge else {
            return;
        };
        let names_metadata = |challenge: &str| {
            let parsed = BearerChallenge::parse(challenge, &self.server);
            parsed.resource_metadata.is_some()
        };
        let mut held = self.lock_state();
        // Many servers name their metadata only to clients without a token.
        if held
            .challenge
            .as_deref()
            .is_none_or(|known| !names_metadata(known))
            || names_metadata(challenge)
        {
            held.challenge = Some(challenge.to_owned());
        }
    }

    fn require_login(&self, why: &str) -> AuthError {
        let error = AuthError::Required(why.to_owned());
        self.lock_state().required = Some(error.clone());
        error
    }

    fn lock_state(&self) -> MutexGuard<'_, AccountState> {
        self.shared.held.lock()
    }
}

impl AccountState {
    /// The reason there is no login.
    fn absent_login(&self) -> AuthError {
        if self.is_saving {
            AuthError::Unavailable("a login is being saved".into())
        } else {
            AuthError::Required("not signed in".into())
        }
    }

    fn is_current_login(&self, login: &Arc<LoginCredentials>) -> bool {
        let held = self.login.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, login))
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
