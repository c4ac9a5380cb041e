//! One user's standing with one server: the token for the next request, and what to do when it is refused.
//!
//! Invariant: however many ask, one refresh is on its way, and what it brings is kept on the disk before
//! anybody uses it. Whoever asks may go; the refresh goes on, since the old token may be dead already.

mod token_refresh;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::{BoxFuture, Shared};
use mux_secrets::Secret;
use rmcp::transport::auth::WWWAuthenticateParams;
use tokio::task::spawn_blocking;
use tracing::warn;
use url::Url;

use super::{
    auth_server_client::{AuthServerClient, HttpClientFactory},
    credential_store::CredentialStore,
    error::{AuthError, one_line_excerpt},
    issuer_bindings::IssuerBindings,
    keyring::KeyringUnavailable,
    login_record::{LoginKey, LoginRecord, LoginSecrets, union},
};

type SharedRefresh = Shared<BoxFuture<'static, Result<Secret, AuthError>>>;

/// What everybody sees of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoginStatus {
    /// Somebody has to sign in.
    Required,
    SignedIn,
}

/// The tokens for one server, shared by all its sessions.
pub struct Account {
    pub(super) key: LoginKey,
    pub(super) server: Url,
    pub(super) store: Arc<CredentialStore>,
    client: HttpClientFactory,
    /// Of the entry, which may change. Guarded for its own sake.
    network: Mutex<Arc<mux_settings::NetworkSettings>>,
    issuers: Arc<IssuerBindings>,
    /// Of a client that the user has registered himself; not kept with the tokens.
    client_secret: Option<Secret>,
    /// The only one whose tokens are used, if the entry names it.
    issuer: Option<String>,
    held: Mutex<AccountState>,
}

#[derive(Default)]
struct AccountState {
    /// The store was asked.
    looked: bool,
    login: Option<Arc<LoginCredentials>>,
    /// With the login whose token is refreshed.
    refreshing: Option<(Arc<LoginCredentials>, SharedRefresh)>,
    /// Why somebody has to sign in.
    required: Option<String>,
    /// The `WWW-Authenticate` of the last answer that asked for a login.
    challenge: Option<String>,
}

/// A login with its secrets.
#[derive(Clone, PartialEq)]
pub(super) struct LoginCredentials {
    pub(super) record: LoginRecord,
    pub(super) secrets: LoginSecrets,
}

/// What an account is made of.
pub(super) struct AccountParts {
    pub(super) key: LoginKey,
    pub(super) server: Url,
    pub(super) store: Arc<CredentialStore>,
    pub(super) issuers: Arc<IssuerBindings>,
    pub(super) client: HttpClientFactory,
    pub(super) network: Arc<mux_settings::NetworkSettings>,
    pub(super) client_secret: Option<Secret>,
    pub(super) issuer: Option<String>,
}

impl Account {
    pub(super) fn new(parts: AccountParts) -> Self {
        Self {
            key: parts.key,
            server: parts.server,
            store: parts.store,
            issuers: parts.issuers,
            client: parts.client,
            network: Mutex::new(parts.network),
            client_secret: parts.client_secret,
            issuer: parts.issuer,
            held: Mutex::default(),
        }
    }

    /// From now on requests go by these proxies and certificates.
    pub(super) fn use_network(&self, network: &Arc<mux_settings::NetworkSettings>) {
        let mut used = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        *used = Arc::clone(network);
    }

    pub(super) async fn endpoints(&self) -> Result<AuthServerClient, String> {
        let network = {
            let used = self.network.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&used)
        };
        AuthServerClient::of(&self.server, &network, self.client).await
    }

    /// For the next request; `None` if nobody has signed in, and the server may not mind.
    pub async fn token(self: &Arc<Self>) -> Result<Option<Secret>, AuthError> {
        let Some(login) = self.login().await else {
            return Ok(None);
        };
        if let Some(why) = self.lock_state().required.clone() {
            return Err(AuthError::Required(why));
        }
        let Some(access) = &login.secrets.access else {
            return Err(self.require_login("nobody is signed in any more"));
        };
        let record = &login.record;
        if !record.is_stale() || (!record.refreshable && !record.is_over()) {
            return Ok(Some(access.clone()));
        }
        match self.refreshed(&login).await {
            Err(AuthError::Unavailable(why)) if !record.is_over() => {
                warn!(why, "the token is refreshed later");
                Ok(Some(access.clone()))
            }
            outcome => outcome.map(Some),
        }
    }

    /// The server answered 401 to a request with this token, or without one: what to try once more.
    pub async fn handle_unauthorized(
        self: &Arc<Self>,
        token: Option<&Secret>,
        challenge: Option<&str>,
    ) -> Result<Secret, AuthError> {
        self.remember_challenge(challenge);
        let Some(login) = self.login().await else {
            let unread = self.store.problem();
            return Err(self.require_login(unread.as_deref().unwrap_or("nobody has signed in")));
        };
        match &login.secrets.access {
            // Somebody else was quicker.
            Some(access) if Some(access) != token && !login.record.is_over() => Ok(access.clone()),
            _ => self.refreshed(&login).await,
        }
    }

    /// The server answered 401 to the token that it was tried with once more.
    pub fn mark_token_refused(&self, token: Option<&Secret>, challenge: Option<&str>) -> AuthError {
        self.remember_challenge(challenge);
        let why = "the server does not accept its token".to_owned();
        let mut held = self.lock_state();
        let login = held.login.as_ref();
        // Somebody may have signed in meanwhile.
        if login.and_then(|login| login.secrets.access.as_ref()) == token {
            held.required = Some(why.clone());
        }
        AuthError::Required(why)
    }

    /// The server answered 403. `None` if that is not for want of a scope.
    pub async fn handle_forbidden(&self, challenge: Option<&str>) -> Option<AuthError> {
        let challenge = challenge?;
        let params = WWWAuthenticateParams::parse(challenge, &self.server);
        if !params.is_insufficient_scope() {
            return None;
        }
        let scopes: Vec<String> = params
            .scope
            .as_deref()
            .unwrap_or_default()
            .split_whitespace()
            .map(one_line_excerpt)
            .collect();
        if let Some(login) = self.login().await {
            self.remember_wanted_scopes(&login, &scopes).await;
        }
        Some(AuthError::Required(match scopes.is_empty() {
            true => "the login does not allow that".into(),
            false => format!("the login lacks the scope {}", scopes.join(" ")),
        }))
    }

    /// `None` if the server has not asked for a login so far.
    pub fn login_status(&self) -> Option<LoginStatus> {
        {
            let held = self.lock_state();
            if held.required.is_some() {
                return Some(LoginStatus::Required);
            }
            if held.looked {
                return held.login.as_ref().map(|_| LoginStatus::SignedIn);
            }
        }
        self.find_record().map(|_| LoginStatus::SignedIn)
    }

    /// What a user should know of a login that works.
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

    /// What is known of the login, without its secrets.
    pub(super) fn known_record(&self) -> Option<LoginRecord> {
        let held = self.lock_state().login.clone();
        match held {
            Some(login) => Some(login.record.clone()),
            None => self.find_record(),
        }
    }

    pub(super) fn challenge(&self) -> Option<String> {
        self.lock_state().challenge.clone()
    }

    /// The login, from the disk if need be.
    pub(super) async fn login(&self) -> Option<Arc<LoginCredentials>> {
        {
            let held = self.lock_state();
            if held.looked {
                return held.login.clone();
            }
        }
        let record = self.find_record();
        let login = match record {
            Some(record) => match self.store.secrets(&record).await {
                Ok(secrets) => {
                    secrets.map(|secrets| Arc::new(LoginCredentials { record, secrets }))
                }
                Err(KeyringUnavailable) => {
                    self.require_login("the keyring that holds its token does not answer");
                    return None;
                }
            },
            None => None,
        };
        let unreadable = self.store.problem().is_some();
        let mut held = self.lock_state();
        // Somebody may have signed in meanwhile.
        if !held.looked && !unreadable {
            held.looked = true;
            if login.is_some() {
                held.required = None;
            }
            held.login = login;
        }
        held.login.clone()
    }

    fn find_record(&self) -> Option<LoginRecord> {
        self.store.find(&self.key, self.issuer.as_deref())
    }

    /// The issuer to which the user's own client belongs: that of its first login, or of one that an earlier version
    /// has kept.
    pub(super) async fn remembered_issuer(&self) -> Result<Option<String>, AuthError> {
        let (issuers, key) = (Arc::clone(&self.issuers), self.key.clone());
        let found = spawn_blocking(move || issuers.find(&key)).await;
        let found = found.unwrap_or_else(|_| Err("the daemon is ending".into()));
        let found = found.map_err(AuthError::Store)?;
        Ok(found.or_else(|| Some(self.store.find(&self.key, None)?.issuer)))
    }

    /// The user's own client belongs to this issuer from now on. Clients that muxd has registered are not remembered.
    pub(super) async fn remember_issuer(&self, issuer: &str) -> Result<(), AuthError> {
        if !self.key.is_own_client() {
            return Ok(());
        }
        let (issuers, key, issuer) = (
            Arc::clone(&self.issuers),
            self.key.clone(),
            issuer.to_owned(),
        );
        let kept = spawn_blocking(move || issuers.remember(&key, &issuer)).await;
        let kept = kept.unwrap_or_else(|_| Err("the daemon is ending".into()));
        kept.map_err(AuthError::Store)
    }

    /// Somebody has signed in: it is kept before it is used.
    pub(super) async fn save_login(&self, login: LoginCredentials) -> Result<(), AuthError> {
        self.remember_issuer(&login.record.issuer).await?;
        let kept = {
            let mut held = self.lock_state();
            // What a refresh that is on its way brings is of no use any more.
            (held.looked, held.login) = (true, None);
            self.persist_login(&login)
        };
        kept.await?;
        *self.lock_state() = AccountState {
            looked: true,
            login: Some(Arc::new(login)),
            ..AccountState::default()
        };
        Ok(())
    }

    /// Nobody is signed in any more.
    pub(super) fn forget(&self) {
        *self.lock_state() = AccountState {
            looked: true,
            ..AccountState::default()
        };
    }

    /// The secrets with those that are not kept.
    pub(super) fn add_client_secret(&self, secrets: &LoginSecrets) -> LoginSecrets {
        let own = self.client_secret.clone();
        LoginSecrets {
            client: own.or_else(|| secrets.client.clone()),
            ..secrets.clone()
        }
    }

    /// Remembers what the server has asked for, for the next login.
    async fn remember_wanted_scopes(&self, login: &Arc<LoginCredentials>, scopes: &[String]) {
        let wanted = union(&login.record.wanted, scopes);
        if wanted == login.record.wanted {
            return;
        }
        let mut more = LoginCredentials::clone(login);
        more.record.wanted = wanted;
        let kept = {
            let mut held = self.lock_state();
            if held.refreshing.is_some() || !held.is_current_login(login) {
                // The next answer of this kind brings them again.
                return;
            }
            let kept = self.persist_login(&more);
            held.login = Some(Arc::new(more));
            kept
        };
        if let Err(error) = kept.await {
            warn!(%error, "the scopes that a server wants are not kept");
        }
    }

    fn persist_login(
        &self,
        login: &LoginCredentials,
    ) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let LoginCredentials { record, secrets } = login.clone();
        self.store.save(record, secrets)
    }

    fn remember_challenge(&self, challenge: Option<&str>) {
        if let Some(challenge) = challenge {
            self.lock_state().challenge = Some(challenge.to_owned());
        }
    }

    fn require_login(&self, why: &str) -> AuthError {
        self.lock_state().required = Some(why.to_owned());
        AuthError::Required(why.to_owned())
    }

    fn lock_state(&self) -> MutexGuard<'_, AccountState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccountState {
    fn is_current_login(&self, login: &Arc<LoginCredentials>) -> bool {
        let held = self.login.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, login))
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("key", &self.key).finish()
    }
}
