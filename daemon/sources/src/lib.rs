//! APIs that are described and no MCP servers: OpenAPI and GraphQL. To everything above they are servers whose
//! other end is in this process.
//!
//! A description is fetched and kept (`description`), read into functions (`openapi`, `graphql`), and each call
//! becomes an HTTP request (`http`) under the entry's credentials and rate. While a session is open its `standing`
//! follows the description; `addresses` keeps where it was called at first.
//!
//! Invariant: a call is sent at most once, unless the API says that it has not taken it; nothing of a credential is in
//! a result, an error or the log; and none goes where the user has not said, and the first description did not. No
//! function is called at an origin that a description has named later, or in another class of network than its own.

mod addresses;
mod description;
mod graphql;
mod http;
mod making;
pub mod openapi;
mod standing;
mod telling;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use reqwest::ClientBuilder;
use serde_json::{Map, Value};
use tokio::sync::watch;

pub use self::graphql::{
    DocumentError, EquivalentField, FieldJudge, Reach, does_as_told as graphql_does_as_told,
    equivalent_fields_without_schema as graphql_fields_without_schema,
    queries_of as graphql_queries, source_of as graphql_source, takes_any as takes_any_graphql,
    tools_of as graphql_tools,
};
pub use self::http::secrets_of;
use self::{
    addresses::Addresses, description::Shelf, http::MakeClient, making::Making, standing::Standing,
};
pub use self::{
    standing::{Described, Refreshed},
    telling::{Telling, Terms},
};
use mux_text::json_weight as weight;

/// Opens sources, and has those that are open.
#[derive(Debug)]
pub struct Sources {
    /// Where descriptions from elsewhere are kept.
    shelf: Arc<Shelf>,
    client: MakeClient,
    /// Where they were called at first.
    addresses: Arc<Addresses>,
    /// By name, the latest of each.
    standing: Mutex<HashMap<String, Arc<Standing>>>,
}

impl Sources {
    /// The folder is made with the first description, and the file that `addresses` names.
    pub fn new(
        folder: PathBuf,
        addresses: PathBuf,
        client: fn(&mux_settings::Network, Option<&Path>) -> Result<ClientBuilder, String>,
    ) -> Self {
        Self {
            shelf: Arc::new(Shelf::new(folder)),
            client,
            addresses: Arc::new(Addresses::new(addresses)),
            standing: Mutex::default(),
        }
    }

    /// Reads the description, from where it is kept if it is there. What is received is another source whenever
    /// the description has changed. An error tells a person what to do, or that it took longer than `within`.
    pub async fn open(
        &self,
        name: &str,
        settings: &mux_settings::Source,
        within: Duration,
    ) -> Result<watch::Receiver<Arc<dyn Source>>, String> {
        let mut making = self.making(name, settings);
        if let Some(before) = self.standing().get(name) {
            making = before.followed_by(making);
        }
        let opening = Standing::open(making, Arc::clone(&self.shelf), within);
        let (standing, source) = opening.await?;
        self.standing().insert(name.to_owned(), standing);
        Ok(source)
    }

    /// Looks at the description again now, if the source is open.
    pub async fn refresh(&self, name: &str) -> Option<Result<Refreshed, String>> {
        let standing = self.opened(name)?;
        Some(standing.refresh().await)
    }

    /// The source as it is described now, if it is open.
    pub fn current(&self, name: &str) -> Option<Arc<dyn Source>> {
        self.opened(name).map(|standing| standing.current())
    }

    /// What is known of the description: of an open source, or of what is kept.
    pub fn described(&self, name: &str, settings: &mux_settings::Source) -> Described {
        match self.opened(name) {
            Some(standing) => standing.described(),
            None => Standing::unopened(&self.making(name, settings), &self.shelf),
        }
    }

    fn making(&self, name: &str, settings: &mux_settings::Source) -> Making {
        Making::new(name, settings, self.client, Arc::clone(&self.addresses))
    }

    fn opened(&self, name: &str) -> Option<Arc<Standing>> {
        self.standing().get(name).filter(|it| it.is_open()).cloned()
    }

    fn standing(&self) -> MutexGuard<'_, HashMap<String, Arc<Standing>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A description that was read: what it offers, and how each is called.
pub trait Source: Send + Sync + fmt::Debug {
    /// What it calls itself, with its version.
    fn identity(&self) -> (String, String);

    /// MCP's `Tool`s.
    fn tools(&self) -> Vec<Value>;

    /// How many they are.
    fn functions(&self) -> usize;

    /// What there is to say of it.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// The other functions whose work a call does, one after the other. It takes as long as the arguments are made for,
    /// within limits, and so is no work for the runtime's threads.
    fn equivalent_fields(
        &self,
        _tool: &str,
        _arguments: &Map<String, Value>,
        _judge: &mut FieldJudge<'_>,
    ) -> Result<Reach, DocumentError> {
        Ok(Reach::default())
    }

    /// MCP's `CallToolResult`. Dropping the future gives the request up.
    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: Telling,
    ) -> BoxFuture<'static, Result<Value, CallFailure>>;
}

/// What a user may want to know of a source.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What to look at: operations that were left out, credentials that fit nothing.
    pub notes: Vec<Note>,
    /// The security schemes that functions need and for which no credential is given.
    pub missing: Vec<String>,
    /// Functions that cannot be called, because of where their description has them called.
    pub forbidden: BTreeSet<String>,
    /// Where its functions are called and its tokens fetched, for the eye.
    pub origins: BTreeSet<String>,
    /// Requests that were sent so far.
    pub requests: u64,
}

/// Something to look at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    pub text: String,
    /// What to do about it, where that is one thing.
    pub fix: Option<String>,
}

impl Note {
    fn fixed(text: String, fix: String) -> Self {
        let fix = Some(fix);
        Self { text, fix }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, fix: None }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fix {
            Some(fix) => write!(f, "{}; {fix}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Why a call has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallFailure {
    /// Nothing has happened: it could not be sent, or the API has not taken it.
    #[error("{0}")]
    Declined(String),
    /// Nothing was sent: it needs a credential that is not given, or cannot be used.
    #[error("{why}")]
    Credential { why: String, fix: String },
    /// Nothing was sent: the function is called where the user has not allowed it.
    #[error("{why}")]
    Forbidden { why: String, fix: String },
    /// It was sent, and the answer is more than is taken.
    #[error("{0}")]
    TooMuch(String),
    /// It was sent, and nobody knows what became of it.
    #[error("{0}")]
    Lost(String),
    /// The arguments make no request.
    #[error("{0}")]
    Unfit(String),
    /// The description has no such function any more.
    #[error("there is no function {0:?}")]
    Unknown(String),
}
