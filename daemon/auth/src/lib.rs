//! OAuth 2.1 logins for MCP servers, and the store of credentials.
//!
//! This crate depends on `mux-http`, `mux-settings`, `mux-secrets`, files and text. The crate does not depend on
//! sessions: `mux-upstream` requests a token for each request.
//!
//! - `login_attempt`: one login, which sends the user to the authorization server with an `authorization_request` and
//!   waits for the redirect of the browser (`callback_server`). Before the browser opens, `discovery` finds the issuer
//!   by the server's `challenge` and metadata, `client_registration` registers muxd there, and `authorization_page`
//!   checks that the issuer accepts the request.
//! - `account`: the token for every request to a server, and whether the user must sign in. `account/token_refresh`
//!   refreshes a stale token in one task, and saves the new one before it is used. `account/shared_sign_in` gets the token
//!   with the refresh token of another server's login. `accounts` are the accounts in use. `error`: the reasons there
//!   is no token.
//! - `auth_server_client` sends the requests to an issuer, and `token_endpoint` the requests for tokens, which
//!   `mux_http::token_endpoint` writes and reads.
//! - `credential_store` saves credentials in the `keyring` or a `credential_file`, each login as a `login_record`.
//!   `credential_store/stored_secrets` and `named_secrets`: the secrets that the configuration names.
//!   `issuer_bindings`: the issuer of a client that the user registered, and issuers that do not share sign-ins.
//!   `identity`: the user who has signed in.
//!
//! A login belongs to a server's URL, client, client secret and `account`, never to the server's name. The environment
//! of `mux-config` puts the value of a named secret into an entry. No error repeats a secret of an entry.
//!
//! Invariant: a token is sent only to its server and to the authorization server that issued it. No token appears in a
//! log, an error, an answer or a worker.

mod account;
mod accounts;
mod auth_server_client;
mod authorization_page;
mod authorization_request;
mod callback_server;
mod challenge;
mod client_registration;
mod credential_file;
mod credential_store;
mod discovery;
mod error;
mod identity;
mod issuer_bindings;
mod keyring;
mod login_attempt;
mod login_record;
mod named_secrets;
mod token_endpoint;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use self::{
    account::EntryOptions,
    accounts::AccountsInUse,
    authorization_request::create_request,
    callback_server::{CallbackServer, redirect_uri},
    credential_store::CredentialStore,
    issuer_bindings::IssuerBindings,
    login_record::{LoginKey, canonical},
};
pub use self::{
    account::{Account, LoginStatus},
    error::AuthError,
    login_attempt::{LoginAttempt, SessionOpener},
    named_secrets::MAX_SECRET_BYTES,
};
use mux_messages::{LoggedOut, TokenStatus};
use mux_settings::{OauthSettings, RemoteServer};
use mux_text::random_name::random_name;

/// All logins of one user.
#[derive(Debug)]
pub struct Auth {
    store: Arc<CredentialStore>,
    /// Whether the keyring is used unless the configuration says otherwise.
    keyring: bool,
    issuers: Arc<IssuerBindings>,
    accounts: Arc<AccountsInUse>,
    /// The latest login attempt by server.
    attempts: Mutex<HashMap<String, Arc<LoginAttempt>>>,
    last: AtomicU64,
}

impl Auth {
    /// `file` has the credentials, or the records of credentials in the keyring. `keyring` is true to use the keyring
    /// by default.
    pub fn open(file: PathBuf, keyring: bool) -> Arc<Self> {
        Arc::new(Self {
            issuers: Arc::new(IssuerBindings::new(file.with_file_name("issuers.json"))),
            store: Arc::new(CredentialStore::open(file, keyring)),
            keyring,
            accounts: AccountsInUse::new(),
            attempts: Mutex::default(),
            last: AtomicU64::new(0),
        })
    }

    /// True if the keyring is used when the configuration does not set this.
    pub fn uses_keyring_by_default(&self) -> bool {
        self.keyring
    }

    /// Sets whether the configuration enables the keyring. `None` for the default.
    pub fn use_keyring(&self, uses: Option<bool>) {
        self.store.use_keyring(uses.unwrap_or(self.keyring));
    }

    /// The account for this server. `None` if the server does not use OAuth.
    pub fn account(&self, remote: &RemoteServer) -> Option<Arc<Account>> {
        let (options, key, server) = Self::login_options(remote)?;
        Some(self.accounts.of_entry(account::AccountParts {
            key,
            server,
            store: Arc::clone(&self.store),
            issuers: Arc::clone(&self.issuers),
            entry: EntryOptions {
                network: Arc::clone(&remote.network),
                client_auth: options.auth.map(Into::into),
                share: options.share,
            },
            client_secret: options.client_secret.clone(),
            issuer: options.issuer.clone(),
        }))
    }

    /// Starts a login. `sharing` are the servers whose entries share sign-ins. `opening` opens the server's session
    /// afterwards.
    pub async fn login(
        &self,
        server: &str,
        remote: &RemoteServer,
        sharing: &[RemoteServer],
        opening: SessionOpener,
    ) -> Result<Arc<LoginAttempt>, AuthError> {
        let inapplicable = || {
            let why = "it does not use OAuth: its entry has `oauth = false`, a `socket`, or an \
                       Authorization header";
            AuthError::Inapplicable(why.into())
        };
        let account = self.account(remote).ok_or_else(inapplicable)?;
        let (options, ..) = Self::login_options(remote).ok_or_else(inapplicable)?;
        if let Some(problem) = self.store.problem() {
            return Err(AuthError::Store(problem));
        }
        let before = self.attempts.lock().remove(server);
        if let Some(before) = before {
            before.cancel_attempt().await;
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("login-{number}-{}", random_name());
        let attempt = if account.login().await.is_none()
            && account.shared_sign_in().await.is_some()
            && let Some(record) = account.known_record()
        {
            let lender = record.shares.as_deref().and_then(|id| self.store.by_id(id));
            let covered_by = lender.map(|lender| lender.key.resource);
            LoginAttempt::of_shared_sign_in(id, server, record, covered_by, opening)
        } else {
            let mut others: Vec<_> = sharing.iter().filter_map(|one| self.account(one)).collect();
            others.retain(|other| account.may_share_with(other));
            let bound = bind_callback(options, &account).await;
            let callback = bound.map_err(|error| self.name_port_holder(error, options.port))?;
            let redirect = callback.redirect_uri();
            let request = create_request(&account, options, &redirect, &others).await?;
            LoginAttempt::begin(id, server, account, request, callback, opening)
        };
        let before = self
            .attempts
            .lock()
            .insert(server.to_owned(), Arc::clone(&attempt));
        if let Some(before) = before {
            // Two logins were started at the same time. The later one counts.
            before.cancel_attempt().await;
        }
        Ok(attempt)
    }

    /// Names the login that uses the entry's port, if muxd itself listens there.
    fn name_port_holder(&self, error: AuthError, port: Option<u16>) -> AuthError {
        let attempts = self.attempts.lock();
        let is_holder = |attempt: &&Arc<LoginAttempt>| {
            attempt.is_pending() && Some(attempt.started.redirect_port) == port
        };
        match attempts.values().find(is_holder) {
            Some(holder) => AuthError::PortTaken(format!(
                "oauth.port = {} is in use by the login of `{}`, which waits for its browser; complete it, or end it with \
                 Ctrl-C",
                holder.started.redirect_port, holder.server
            )),
            None => error,
        }
    }

    /// Waits until no refresh token is being exchanged: a token that the issuer has replaced must be saved before the
    /// daemon ends.
    pub async fn finish_exchanges(&self, within: Duration) {
        let exchanges = self.accounts.finish_exchanges();
        if tokio::time::timeout(within, exchanges).await.is_err() {
            tracing::warn!(?within, "an authorization server has not answered in time");
        }
    }

    pub fn attempt(&self, id: &str) -> Result<Arc<LoginAttempt>, AuthError> {
        let attempts = self.attempts.lock();
        let found = attempts
            .values()
            .find(|attempt| attempt.started.login == id);
        found.cloned().ok_or_else(|| {
            let is_ours = id
                .strip_prefix("login-")
                .and_then(|rest| rest.split('-').next())
                .and_then(|n| n.parse::<u64>().ok());
            if is_ours.is_some_and(|n| (1..=self.last.load(Ordering::Relaxed)).contains(&n)) {
                AuthError::Superseded
            } else {
                AuthError::Unknown(id.to_owned())
            }
        })
    }

    /// Signs out of this server: forgets the tokens, and revokes them if the authorization server supports it. A shared
    /// sign-in ends for all of its servers. This server shares none until the user signs in to it, whether or not the
    /// user was signed in. The caller adds the server's name.
    pub async fn logout(&self, remote: &RemoteServer) -> Result<LoggedOut, AuthError> {
        let Some(account) = self.account(remote) else {
            return Ok(LoggedOut::default());
        };
        if let Some(problem) = self.store.problem() {
            return Err(AuthError::Store(problem));
        }
        let record = account.known_record();
        let own_login = account.login().await;
        // Forget the login first: a refresh in flight is then dropped.
        account.forget();
        if let Err(error) = self.store.sign_out(&account.key).await {
            account.forget_cached();
            return Err(error);
        }
        let Some(record) = record else {
            return Ok(LoggedOut::default());
        };
        let shared = record.shares.as_deref().and_then(|id| self.store.by_id(id));
        let (account, record, login) = match shared {
            Some(lender) => {
                let account = self.accounts.of_record(&lender, &account);
                let login = account.login().await;
                (account, lender, login)
            }
            None => (account, record, own_login),
        };
        self.accounts.forget(&record);
        account.remember_issuer(&record.issuer).await?;
        // Forget the login before the revocation: a deleted token is as good as revoked.
        self.store.forget(&record).await?;
        account.end_borrowers(&record.id()).await?;
        let revoked = match (&record.revocation_endpoint, login) {
            (None, _) => Err("the authorization server does not support revocation".into()),
            (_, None) => Err("the keyring that holds the token does not answer".into()),
            (Some(endpoint), Some(login)) => match account.endpoints_of(&record).await {
                Ok(endpoints) => {
                    let client = account.credentials(&login);
                    endpoints.revoke(endpoint, &client, &login.secrets).await
                }
                Err(problem) => Err(problem),
            },
        };
        Ok(LoggedOut {
            server: String::new(),
            was_signed_in: true,
            revoked: revoked.is_ok(),
            problem: revoked.err(),
        })
    }

    pub fn credential_location(&self) -> TokenStatus {
        let (keyring, note) = self.store.keyring();
        let file = self.store.path().to_owned();
        TokenStatus {
            keyring,
            file,
            note,
        }
    }

    /// The reason the credential file is not used.
    pub fn credential_problem(&self) -> Option<String> {
        self.store.problem()
    }

    /// The OAuth settings of the entry, and the key of its login. `None` if it does not use OAuth.
    fn login_options(remote: &RemoteServer) -> Option<(&OauthSettings, LoginKey, url::Url)> {
        let options = remote.oauth.as_ref().filter(|_| remote.has_login())?;
        let server = canonical(remote.url.expose())?;
        let key = LoginKey {
            resource: server.to_string(),
            client: options.client_id.clone(),
            proof: options.client_secret.as_ref().map(LoginKey::proof),
            account: remote.account.clone(),
        };
        Some((options, key, server))
    }
}

/// Binds the port in the entry, the port of the existing registration, or any port.
async fn bind_callback(
    options: &OauthSettings,
    account: &Account,
) -> Result<CallbackServer, AuthError> {
    if let Some(port) = options.port {
        let taken =
            |error| AuthError::PortTaken(format!("oauth.port = {port} cannot be used: {error}"));
        return CallbackServer::bind(port).await.map_err(taken);
    }
    let registered = account.known_record().and_then(|record| {
        let port = url::Url::parse(&record.redirect).ok()?.port()?;
        (redirect_uri(port) == record.redirect).then_some(port)
    });
    if let Some(port) = registered
        && let Ok(callback) = CallbackServer::bind(port).await
    {
        return Ok(callback);
    }
    let taken = |error| AuthError::PortTaken(format!("no port of 127.0.0.1 can be used: {error}"));
    CallbackServer::bind(0).await.map_err(taken)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::{
        Json, Router,
        http::StatusCode,
        response::IntoResponse,
        routing::{get, post},
    };
    use mux_secrets::Secret;
    use serde_json::json;

    use super::{
        login_record::{LoginRecord, LoginSecrets, tests::record},
        *,
    };
    use mux_config::{Config, environment::Environment};
    use mux_settings::{ServerEndpoint, Settings};

    fn remote(secret: &str) -> RemoteServer {
        remote_with(&format!("oauth = {{ client_id = \"mine\"{secret} }}"))
    }

    fn remote_with(keys: &str) -> RemoteServer {
        remote_at("https://x.test/mcp", keys)
    }

    fn remote_at(url: &str, keys: &str) -> RemoteServer {
        let entry = format!("[servers.a]\nurl = {url:?}\n{keys}\n");
        let config = Config::parse(&entry, "c").unwrap();
        let mut settings = Settings::resolve(config, &Environment::default(), "/".as_ref());
        match settings
            .servers
            .remove("a")
            .unwrap()
            .definition
            .unwrap()
            .endpoint
        {
            ServerEndpoint::Remote(remote) => remote,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn entries_with_different_client_secrets_share_no_account() {
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let account = |secret| auth.account(&remote(secret)).unwrap();
        let one = account(", client_secret = \"first\"");
        let two = account(", client_secret = \"second\"");
        let none = account("");
        assert!(!Arc::ptr_eq(&one, &two) && !Arc::ptr_eq(&one, &none));
        assert!(Arc::ptr_eq(&one, &account(", client_secret = \"first\"")));
        let own = |account: &Account| account.own_secret();
        assert_eq!(own(&one), Some(Secret::new("first")));
        assert_eq!((own(&two), own(&none)), (Some(Secret::new("second")), None));
        assert!(
            !format!("{:?}", one.key).contains("first"),
            "it is named by a hash"
        );
    }

    #[tokio::test]
    async fn accounts_at_one_url_are_separate_and_each_is_shared() {
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let account = |keys| auth.account(&remote_with(keys)).unwrap();
        let work = account("account = \"work\"");
        let own = account("account = \"own\"");
        let none = account("");
        assert!(!Arc::ptr_eq(&work, &own) && !Arc::ptr_eq(&work, &none));
        assert!(Arc::ptr_eq(&work, &account("account = \"work\"")));
    }

    fn secrets() -> LoginSecrets {
        LoginSecrets {
            access: Some(Secret::new("access-1")),
            refresh: Some(Secret::new("refresh-1")),
            ..LoginSecrets::default()
        }
    }

    #[tokio::test]
    async fn entries_with_and_without_the_issuer_use_one_login_and_end_it_together() {
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let plain = remote("");
        let named = remote(", issuer = \"https://issuer.test\"");
        let foreign = remote(", issuer = \"https://else.test\"");
        let account = |remote| auth.account(remote).unwrap();
        let login = LoginRecord {
            key: account(&plain).key.clone(),
            ..record(None, 0)
        };
        auth.store.save(login, secrets()).await.unwrap();
        let one = account(&named).login().await.unwrap();
        let other = account(&plain).login().await.unwrap();
        assert!(
            Arc::ptr_eq(&one, &other),
            "its refresh token is exchanged in one place"
        );
        assert!(account(&foreign).login().await.is_none());
        assert!(auth.logout(&plain).await.unwrap().was_signed_in);
        assert!(account(&named).login().await.is_none());
        assert_eq!(account(&named).login_status(), None);
    }

    #[tokio::test]
    async fn logout_without_a_login_declines_a_shared_sign_in() {
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let lender = record(None, 0);
        auth.store.save(lender.clone(), secrets()).await.unwrap();
        let remote = remote_with("");
        let key = auth.account(&remote).unwrap().key.clone();
        assert_eq!(auth.store.lenders(&key, None), [lender]);
        let outcome = auth.logout(&remote).await;
        assert_eq!(outcome, Ok(LoggedOut::default()));
        assert_eq!(auth.store.lenders(&key, None), []);
    }

    #[tokio::test]
    async fn challenge_that_names_the_metadata_is_kept_and_no_token_in_a_later_one_is_repeated() {
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let account = auth.account(&remote("")).unwrap();
        let named = "Bearer resource_metadata=\"https://x.test/meta\", scope=\"read\"";
        assert!(
            account
                .handle_unauthorized(None, Some(named))
                .await
                .is_err()
        );
        let token = Secret::new("token-".repeat(40));
        let before = "a".repeat(200);
        let header = format!(
            "Bearer error=\"invalid_token\", error_description=\"{before} {}\"",
            token.expose()
        );
        let error = account.mark_token_refused(Some(&token), Some(&header));
        assert!(!error.to_string().contains("token-token"), "{error}");
        assert_eq!(account.challenge().as_deref(), Some(named));
    }

    /// An issuer with one MCP server, whose token endpoint answers each request with the next of these statuses. 200 is
    /// a token for the server.
    async fn issuer_that_answers(statuses: &'static [u16]) -> (String, Secret, Arc<AtomicUsize>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let server = format!("{issuer}/mcp");
        let resource = Json(json!({ "resource": server, "authorization_servers": [issuer] }));
        let metadata = Json(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }));
        let token = identity::tests::web_token(&json!({ "aud": server }));
        let granted = Json(json!({ "access_token": token.expose(), "token_type": "Bearer" }));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let grant = move || async move {
            match statuses[counted.fetch_add(1, Ordering::Relaxed)] {
                200 => granted.into_response(),
                400 => {
                    let refused = Json(json!({ "error": "invalid_target" }));
                    (StatusCode::BAD_REQUEST, refused).into_response()
                }
                status => StatusCode::from_u16(status).unwrap().into_response(),
            }
        };
        let routes = Router::new()
            .route(
                "/.well-known/oauth-protected-resource/mcp",
                get(async || resource),
            )
            .route(
                "/.well-known/oauth-authorization-server",
                get(async || metadata),
            )
            .route("/token", post(grant));
        tokio::spawn(axum::serve(listener, routes).into_future());
        (issuer, token, requests)
    }

    /// A login of another server of the issuer, which was granted for these resources.
    fn lender(issuer: &str, resources: &[&str]) -> LoginRecord {
        let mut lender = LoginRecord {
            issuer: issuer.to_owned(),
            token_endpoint: format!("{issuer}/token"),
            resources: resources.iter().map(|one| (*one).to_owned()).collect(),
            ..record(None, 0)
        };
        lender.key.resource = "http://127.0.0.1:1/mcp".into();
        lender.audience.clone_from(&lender.key.resource);
        lender
    }

    const SHARED: &str = "oauth = { share = true }";

    #[tokio::test]
    async fn shared_sign_in_is_tried_again_after_a_failure_of_the_authorization_server() {
        let (issuer, token, _) = issuer_that_answers(&[503, 200]).await;
        let server = format!("{issuer}/mcp");
        let home = tempfile::tempdir().unwrap();
        let auth = Auth::open(home.path().join("credentials.json"), false);
        let lender = lender(&issuer, &["http://127.0.0.1:1/mcp", &server]);
        auth.store.save(lender, secrets()).await.unwrap();
        let account = auth.account(&remote_at(&server, SHARED)).unwrap();
        let failed = account.handle_unauthorized(None, None).await;
        assert!(matches!(failed, Err(AuthError::Required(_))), "{failed:?}");
        assert_eq!(account.handle_unauthorized(None, None).await, Ok(token));
    }

    #[tokio::test]
    async fn sign_in_is_presented_only_for_servers_that_it_was_granted_for() {
        let (issuer, _, requests) = issuer_that_answers(&[400]).await;
        let server = format!("{issuer}/mcp");
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("credentials.json");
        let auth = Auth::open(file.clone(), false);
        let one = "http://127.0.0.1:1/mcp";
        for (keys, granted, presented) in [
            ("", &[one, &server][..], 0),
            (SHARED, &[one], 0),
            (SHARED, &[one, "http://127.0.0.1:2/mcp"], 0),
            (SHARED, &[one, &server], 1),
            // The issuer has refused and is not asked again.
            (SHARED, &[one, &server], 1),
        ] {
            let lender = lender(&issuer, granted);
            auth.store.save(lender, secrets()).await.unwrap();
            let account = auth.account(&remote_at(&server, keys)).unwrap();
            account.forget_cached();
            let refused = account.handle_unauthorized(None, None).await;
            assert!(
                matches!(refused, Err(AuthError::Required(_))),
                "{refused:?}"
            );
            assert_eq!(
                requests.load(Ordering::Relaxed),
                presented,
                "{keys} {granted:?}"
            );
        }
        // Nor after a restart.
        let later = Auth::open(file, false);
        let account = later.account(&remote_at(&server, SHARED)).unwrap();
        assert!(account.handle_unauthorized(None, None).await.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}
