//! Servers behind a login: OAuth 2.1 as MCP has it.
//!
//! A `login` sends the user with a question (`authority`) to the authorization server and waits for him to
//! come back (`callback`); the `account` then has the token for every request, asks for the next one
//! (`endpoint`) before it ends, and says when somebody has to sign in again. Tokens are kept in the `store`, and so
//! are the secrets that the configuration names (`secrets`).
//!
//! Invariant: a token leaves the daemon in requests to the server that it is for, and to the authorization
//! server that gave it, alone. It stands in no log, no error, no answer, and no worker.

mod account;
mod authority;
mod callback;
mod endpoint;
mod error;
mod file;
mod issuers;
mod keyring;
mod login;
mod record;
mod secrets;
mod store;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub use self::{
    account::{Account, Standing},
    endpoint::MakeClient,
    error::AuthError,
    login::{Attempt, Opening, SignedIn},
    secrets::{KeptSecret, MOST_SECRET},
};
use self::{
    authority::Terms,
    callback::{Callback, redirect_uri},
    issuers::Issuers,
    record::{Key, canonical},
    store::Store,
};
use mux_settings::{Oauth, Remote};
use mux_text::random_name::random_name;

/// A server with the issuer that its entry names, if it names one: a login of another issuer is not used.
type AccountKey = (Key, Option<String>);

/// All logins of one user.
#[derive(Debug)]
pub struct Auth {
    store: Arc<Store>,
    client: MakeClient,
    /// Whether the keyring is used unless the configuration says otherwise.
    keyring: bool,
    issuers: Arc<Issuers>,
    accounts: Mutex<HashMap<AccountKey, Arc<Account>>>,
    /// The last one of each server.
    attempts: Mutex<HashMap<String, Arc<Attempt>>>,
    last: AtomicU64,
}

/// Where credentials are kept.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    pub keyring: bool,
    pub file: &'a Path,
    /// Why the keyring is not used, where it was to be.
    pub note: Option<String>,
    /// Why the file is not used.
    pub problem: Option<String>,
}

/// What became of a login that was ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedOut {
    pub was_signed_in: bool,
    pub revoked: bool,
    pub problem: Option<String>,
}

impl Auth {
    /// `file` is where credentials are kept, or what is known of those in the keyring.
    pub fn open(file: PathBuf, keyring: bool, client: MakeClient) -> Arc<Self> {
        Arc::new(Self {
            issuers: Arc::new(Issuers::new(file.with_file_name("issuers.json"))),
            store: Arc::new(Store::open(file, keyring)),
            client,
            keyring,
            accounts: Mutex::default(),
            attempts: Mutex::default(),
            last: AtomicU64::new(0),
        })
    }

    /// What the configuration says of it; `None`: nothing.
    pub fn use_keyring(&self, uses: Option<bool>) {
        self.store.use_keyring(uses.unwrap_or(self.keyring));
    }

    /// Who keeps the token for this server; `None` where nobody signs in.
    pub fn account(&self, remote: &Remote) -> Option<Arc<Account>> {
        let (terms, key, server) = self.terms(remote)?;
        let mut accounts = locked(&self.accounts);
        let account = accounts.entry((key.clone(), terms.issuer.clone()));
        let account = account.or_insert_with(|| {
            Arc::new(Account::new(account::Parts {
                key,
                server,
                store: Arc::clone(&self.store),
                issuers: Arc::clone(&self.issuers),
                client: self.client,
                network: Arc::clone(&remote.network),
                client_secret: terms.client_secret,
                issuer: terms.issuer,
            }))
        });
        account.use_network(&remote.network);
        Some(Arc::clone(account))
    }

    /// Begins to sign in. `opening` opens the server's session afterwards.
    pub async fn login(
        &self,
        server: &str,
        remote: &Remote,
        opening: Opening,
    ) -> Result<Arc<Attempt>, AuthError> {
        let inapplicable = || {
            let why = "it is not one to sign in to: its entry has `oauth = false`, a `socket`, or an \
                       Authorization header of its own";
            AuthError::Inapplicable(why.into())
        };
        let account = self.account(remote).ok_or_else(inapplicable)?;
        let (terms, ..) = self.terms(remote).ok_or_else(inapplicable)?;
        if let Some(problem) = self.store.problem() {
            return Err(AuthError::Store(problem));
        }
        let before = locked(&self.attempts).remove(server);
        if let Some(before) = before {
            before.give_up().await;
        }
        let callback = callback(&terms, &account).await?;
        let question = authority::question(&account, &terms, &callback.redirect_uri()).await?;
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("login-{number}-{}", random_name());
        let attempt = Attempt::begin(id, server, account, question, callback, opening);
        let before = locked(&self.attempts).insert(server.to_owned(), Arc::clone(&attempt));
        if let Some(before) = before {
            // Two were begun at once: the later one counts.
            before.give_up().await;
        }
        Ok(attempt)
    }

    pub fn attempt(&self, id: &str) -> Result<Arc<Attempt>, AuthError> {
        let attempts = locked(&self.attempts);
        let found = attempts.values().find(|attempt| attempt.id == id);
        found.cloned().ok_or_else(|| {
            let is_ours = id
                .strip_prefix("login-")
                .and_then(|rest| rest.split('-').next())
                .and_then(|n| n.parse::<u64>().ok());
            match is_ours.is_some_and(|n| (1..=self.last.load(Ordering::Relaxed)).contains(&n)) {
                true => AuthError::Superseded,
                false => AuthError::Unknown(id.to_owned()),
            }
        })
    }

    /// How long a user may take.
    pub fn limit(&self) -> Duration {
        login::LIMIT
    }

    /// Ends the login at this server: with its authorization server, if that can be asked, and here.
    pub async fn logout(&self, remote: &Remote) -> Result<LoggedOut, AuthError> {
        let Some(account) = self.account(remote) else {
            return Ok(LoggedOut::default());
        };
        if let Some(problem) = self.store.problem() {
            return Err(AuthError::Store(problem));
        }
        let login = account.login().await;
        let record = account.known();
        account.forget();
        let Some(record) = record else {
            return Ok(LoggedOut::default());
        };
        account.remember_issuer(&record.issuer).await?;
        // First here: a token that nobody has any more is as good as revoked.
        self.store.forget(&record).await?;
        let revoked = match (&record.revocation_endpoint, login) {
            (None, _) => Err("the authorization server offers no revocation".into()),
            (_, None) => Err("the keyring that holds the token does not answer".into()),
            (Some(endpoint), Some(login)) => {
                let secrets = account.completed(&login.secrets);
                match account.endpoints().await {
                    Ok(endpoints) => endpoints.revoke(endpoint, &record, &secrets).await,
                    Err(problem) => Err(problem),
                }
            }
        };
        Ok(LoggedOut {
            was_signed_in: true,
            revoked: revoked.is_ok(),
            problem: revoked.err(),
        })
    }

    pub fn kept(&self) -> Kept<'_> {
        let (keyring, note) = self.store.keyring();
        Kept {
            keyring,
            file: self.store.path(),
            note,
            problem: self.store.problem(),
        }
    }

    /// What the entry says, where it does not rule out that somebody signs in.
    fn terms(&self, remote: &Remote) -> Option<(Terms, Key, url::Url)> {
        let Oauth::On {
            client_id,
            client_secret,
            issuer,
            scopes,
            port,
        } = &remote.oauth
        else {
            return None;
        };
        let mut headers = remote.headers.keys();
        let own = headers.any(|name| name.eq_ignore_ascii_case("authorization"));
        // A token for the host in the address is not for whoever listens on a socket.
        if own || remote.socket.is_some() {
            return None;
        }
        let server = canonical(remote.url.expose())?;
        let client_secret = client_secret.clone();
        let key = Key {
            resource: server.to_string(),
            client: client_id.clone(),
            proof: client_secret.as_ref().map(Key::proof),
        };
        let terms = Terms {
            client_id: client_id.clone(),
            client_secret,
            issuer: issuer.clone(),
            scopes: scopes.clone(),
            port: *port,
        };
        Some((terms, key, server))
    }
}

/// The port that the entry names, the one that we are registered with, or any.
async fn callback(terms: &Terms, account: &Account) -> Result<Callback, AuthError> {
    if let Some(port) = terms.port {
        let taken =
            |error| AuthError::PortTaken(format!("oauth.port = {port} cannot be used: {error}"));
        return Callback::bind(port).await.map_err(taken);
    }
    let registered = account.known().and_then(|record| {
        let port = url::Url::parse(&record.redirect).ok()?.port()?;
        (redirect_uri(port) == record.redirect).then_some(port)
    });
    if let Some(port) = registered
        && let Ok(callback) = Callback::bind(port).await
    {
        return Ok(callback);
    }
    let taken = |error| AuthError::PortTaken(format!("no port of 127.0.0.1 can be used: {error}"));
    Callback::bind(0).await.map_err(taken)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use mux_secrets::Secret;

    use super::*;
    use mux_config::{Config, environment::Environment};
    use mux_settings::{Link, Settings};

    fn remote(secret: &str) -> Remote {
        let entry = format!(
            "[servers.a]\nurl = \"https://x.test/mcp\"\noauth = {{ client_id = \"mine\"{secret} }}\n"
        );
        let config = Config::parse(&entry, "c").unwrap();
        let mut settings = Settings::resolve(config, &Environment::default(), Path::new("/"));
        match settings
            .servers
            .remove("a")
            .unwrap()
            .definition
            .unwrap()
            .link
        {
            Link::Remote(remote) => remote,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn entries_that_give_one_client_two_secrets_share_no_account() {
        let home = tempfile::tempdir().unwrap();
        let client = mux_http::http_client::builder;
        let auth = Auth::open(home.path().join("credentials.json"), false, client);
        let account = |secret| auth.account(&remote(secret)).unwrap();
        let (one, two, none) = (
            account(", client_secret = \"one\""),
            account(", client_secret = \"two\""),
            account(""),
        );
        assert!(!Arc::ptr_eq(&one, &two) && !Arc::ptr_eq(&one, &none));
        assert!(Arc::ptr_eq(&one, &account(", client_secret = \"one\"")));
        let own = |account: &Account| account.completed(&Default::default()).client;
        assert_eq!(own(&one), Some(Secret::new("one")));
        assert_eq!((own(&two), own(&none)), (Some(Secret::new("two")), None));
        assert!(
            !format!("{:?}", one.key).contains("one"),
            "it is named by a hash"
        );
    }
}
