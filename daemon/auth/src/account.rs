//! One user's standing with one server: the token for the next request, and what to do when it is refused.
//!
//! Invariant: however many ask, one refresh is on its way, and what it brings is kept on the disk before
//! anybody uses it. Whoever asks may go; the refresh goes on, since the old token may be dead already.

mod refresh;

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
    endpoint::{Endpoints, MakeClient},
    error::{AuthError, told},
    issuers::Issuers,
    keyring::Silent,
    record::{Key, Record, Secrets, union},
    store::Store,
};

type Refreshing = Shared<BoxFuture<'static, Result<Secret, AuthError>>>;

/// What everybody sees of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Somebody has to sign in.
    Required,
    SignedIn,
}

/// The tokens for one server, shared by all its sessions.
pub struct Account {
    pub(super) key: Key,
    pub(super) server: Url,
    pub(super) store: Arc<Store>,
    client: MakeClient,
    /// Of the entry, which may change. Guarded for its own sake.
    network: Mutex<Arc<mux_settings::Network>>,
    issuers: Arc<Issuers>,
    /// Of a client that the user has registered himself; not kept with the tokens.
    client_secret: Option<Secret>,
    /// The only one whose tokens are used, if the entry names it.
    issuer: Option<String>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// The store was asked.
    looked: bool,
    login: Option<Arc<Login>>,
    /// With the login whose token is refreshed.
    refreshing: Option<(Arc<Login>, Refreshing)>,
    /// Why somebody has to sign in.
    required: Option<String>,
    /// The `WWW-Authenticate` of the last answer that asked for a login.
    challenge: Option<String>,
}

/// A login with its secrets.
#[derive(Clone, PartialEq)]
pub(super) struct Login {
    pub(super) record: Record,
    pub(super) secrets: Secrets,
}

/// What an account is made of.
pub(super) struct Parts {
    pub(super) key: Key,
    pub(super) server: Url,
    pub(super) store: Arc<Store>,
    pub(super) issuers: Arc<Issuers>,
    pub(super) client: MakeClient,
    pub(super) network: Arc<mux_settings::Network>,
    pub(super) client_secret: Option<Secret>,
    pub(super) issuer: Option<String>,
}

impl Account {
    pub(super) fn new(parts: Parts) -> Self {
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
    pub(super) fn use_network(&self, network: &Arc<mux_settings::Network>) {
        let mut used = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        *used = Arc::clone(network);
    }

    pub(super) async fn endpoints(&self) -> Result<Endpoints, String> {
        let network = {
            let used = self.network.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&used)
        };
        Endpoints::of(&self.server, &network, self.client).await
    }

    /// For the next request; `None` if nobody has signed in, and the server may not mind.
    pub async fn token(self: &Arc<Self>) -> Result<Option<Secret>, AuthError> {
        let Some(login) = self.login().await else {
            return Ok(None);
        };
        if let Some(why) = self.held().required.clone() {
            return Err(AuthError::Required(why));
        }
        let Some(access) = &login.secrets.access else {
            return Err(self.require("nobody is signed in any more"));
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
    pub async fn rejected(
        self: &Arc<Self>,
        token: Option<&Secret>,
        challenge: Option<&str>,
    ) -> Result<Secret, AuthError> {
        self.heed(challenge);
        let Some(login) = self.login().await else {
            let unread = self.store.problem();
            return Err(self.require(unread.as_deref().unwrap_or("nobody has signed in")));
        };
        match &login.secrets.access {
            // Somebody else was quicker.
            Some(access) if Some(access) != token && !login.record.is_over() => Ok(access.clone()),
            _ => self.refreshed(&login).await,
        }
    }

    /// The server answered 401 to the token that it was tried with once more.
    pub fn refused(&self, token: Option<&Secret>, challenge: Option<&str>) -> AuthError {
        self.heed(challenge);
        let why = "the server does not accept its token".to_owned();
        let mut held = self.held();
        let login = held.login.as_ref();
        // Somebody may have signed in meanwhile.
        if login.and_then(|login| login.secrets.access.as_ref()) == token {
            held.required = Some(why.clone());
        }
        AuthError::Required(why)
    }

    /// The server answered 403. `None` if that is not for want of a scope.
    pub async fn forbidden(&self, challenge: Option<&str>) -> Option<AuthError> {
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
            .map(told)
            .collect();
        if let Some(login) = self.login().await {
            self.want(&login, &scopes).await;
        }
        Some(AuthError::Required(match scopes.is_empty() {
            true => "the login does not allow that".into(),
            false => format!("the login lacks the scope {}", scopes.join(" ")),
        }))
    }

    /// `None` if the server has not asked for a login so far.
    pub fn standing(&self) -> Option<Standing> {
        {
            let held = self.held();
            if held.required.is_some() {
                return Some(Standing::Required);
            }
            if held.looked {
                return held.login.as_ref().map(|_| Standing::SignedIn);
            }
        }
        self.found().map(|_| Standing::SignedIn)
    }

    /// What a user should know of a login that works.
    pub fn warning(&self) -> Option<String> {
        let record = self.known()?;
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
    pub(super) fn known(&self) -> Option<Record> {
        let held = self.held().login.clone();
        match held {
            Some(login) => Some(login.record.clone()),
            None => self.found(),
        }
    }

    pub(super) fn challenge(&self) -> Option<String> {
        self.held().challenge.clone()
    }

    /// The login, from the disk if need be.
    pub(super) async fn login(&self) -> Option<Arc<Login>> {
        {
            let held = self.held();
            if held.looked {
                return held.login.clone();
            }
        }
        let record = self.found();
        let login = match record {
            Some(record) => match self.store.secrets(&record).await {
                Ok(secrets) => secrets.map(|secrets| Arc::new(Login { record, secrets })),
                Err(Silent) => {
                    self.require("the keyring that holds its token does not answer");
                    return None;
                }
            },
            None => None,
        };
        let unreadable = self.store.problem().is_some();
        let mut held = self.held();
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

    fn found(&self) -> Option<Record> {
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
    pub(super) async fn signed_in(&self, login: Login) -> Result<(), AuthError> {
        self.remember_issuer(&login.record.issuer).await?;
        let kept = {
            let mut held = self.held();
            // What a refresh that is on its way brings is of no use any more.
            (held.looked, held.login) = (true, None);
            self.kept(&login)
        };
        kept.await?;
        *self.held() = Held {
            looked: true,
            login: Some(Arc::new(login)),
            ..Held::default()
        };
        Ok(())
    }

    /// Nobody is signed in any more.
    pub(super) fn forget(&self) {
        *self.held() = Held {
            looked: true,
            ..Held::default()
        };
    }

    /// The secrets with those that are not kept.
    pub(super) fn completed(&self, secrets: &Secrets) -> Secrets {
        let own = self.client_secret.clone();
        Secrets {
            client: own.or_else(|| secrets.client.clone()),
            ..secrets.clone()
        }
    }

    /// Remembers what the server has asked for, for the next login.
    async fn want(&self, login: &Arc<Login>, scopes: &[String]) {
        let wanted = union(&login.record.wanted, scopes);
        if wanted == login.record.wanted {
            return;
        }
        let mut more = Login::clone(login);
        more.record.wanted = wanted;
        let kept = {
            let mut held = self.held();
            if held.refreshing.is_some() || !held.is(login) {
                // The next answer of this kind brings them again.
                return;
            }
            let kept = self.kept(&more);
            held.login = Some(Arc::new(more));
            kept
        };
        if let Err(error) = kept.await {
            warn!(%error, "the scopes that a server wants are not kept");
        }
    }

    fn kept(&self, login: &Login) -> impl Future<Output = Result<(), AuthError>> + use<> {
        let Login { record, secrets } = login.clone();
        self.store.save(record, secrets)
    }

    fn heed(&self, challenge: Option<&str>) {
        if let Some(challenge) = challenge {
            self.held().challenge = Some(challenge.to_owned());
        }
    }

    fn require(&self, why: &str) -> AuthError {
        self.held().required = Some(why.to_owned());
        AuthError::Required(why.to_owned())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn is(&self, login: &Arc<Login>) -> bool {
        let held = self.login.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, login))
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("key", &self.key).finish()
    }
}
