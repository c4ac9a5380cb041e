//! APIs that are described and are no MCP servers: OpenAPI and GraphQL. To everything above they are servers whose
//! other end is in this process.
//!
//! It knows `mux-settings`, `mux-http`, `mux-schema`, `mux-typegen` and the crates for callers, secrets, telemetry,
//! text, files and process. It knows no session, no catalog and no policy: `mux-upstream`'s `link/inside` answers for a
//! source, so that catalog, types, pins, policy and states are those of servers.
//!
//! # From a description to calls
//!
//! - `openapi_description` is where descriptions come from: a watched file, or an address (`description_fetcher`) whose answers are kept
//!   (`description_cache`), used at once however old, and requested again beside the calls.
//! - `live_source` is one open source and the description that it follows; a new description takes the old one's place
//!   only if it was read to its end. `source_config` is what a source is made of besides it, `call_progress` what a call in flight
//!   reports and how much time it has.
//! - `first_seen_origins` keeps where each source was called, and its tokens fetched, when its description was first read.
//! - `openapi` makes a function of each operation: `document` reads the text and follows references, `openapi_description` all
//!   operations, `operation` one; `function_names`, `parameters`, `body` with `media_types`, `operation_responses`, `paging_detection`, `security_requirements` and
//!   `server_address` each read their part; `schema_dialect`, `schema_keywords`, `object_members`, `schema_closure` and `schema_walk` turn schemas into JSON
//!   Schema; `parameter_style` and `operation_request` write a call.
//! - `graphql` makes a function of each field of the root types: the schema is introspected (`introspection_fetcher`, `introspection`)
//!   or written (`sdl`) and becomes a `schema_model`; `tool_list` makes tools with `argument_schema`, `default_selection`, `custom_selection`
//!   selections, `result_schema` and `scalar_types`; `function_call`, `value_literal`, `graphql_response`, `graphql_endpoint` and `credentials` make requests.
//!   `document` and `equivalent_fields` find which functions a caller's own GraphQL amounts to, for policy; `description_text`
//!   bounds what a schema says.
//! - `http` sends a request: `api_client` at its address, with `credentials` and `token_fetcher`, to the `allowed_origins` that are allowed,
//!   in the line of `source_rate_limiter`, `retry_policy` only if it was not taken; `send_request`, `api_response`, `call_result`, `error_reason`, `body`, `link_header`,
//!   `pagination` and `dot_segments` are the parts of a request and its answer; `secret_mask` removes secrets from what comes back;
//!   `entry_state` outlives a description.
//!
//! Descriptions are read as JSON values, because schemas must stay JSON Schema, and one broken operation must cost
//! itself only. What a tool reaches of its description goes with it, arguments as far as there is room, results up to a
//! size. Reading has a limited number of steps, since a thread that reads cannot be stopped; JSON is weighed before it
//! is read, and moved, never copied.
//!
//! A request is sent again only if it was not sent, or if the API says that it was not taken; time spent waiting for
//! `source_rate_limiter` does not count on the call's clock.
//!
//! Invariants:
//!
//! - A call is sent at most once, unless the API says that it has not taken it.
//! - Nothing of a credential is in a result, an error or the log. No credential goes where neither the user said nor
//!   the first description named: `allowed_origins` are those of the entry or of the first description, and functions are
//!   called nowhere else. A description that names them later changes nothing.
//! - `mux_http::address_policy` keeps a description out of networks other than its own, by the addresses that names
//!   have when they are called.

mod call_progress;
mod description;
mod first_seen_origins;
mod graphql;
mod http;
mod live_source;
pub mod openapi;
mod source_config;

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
    CallEffects, DocumentError, EquivalentField, FieldJudge,
    depends_on_arguments as graphql_does_as_told,
    equivalent_fields_without_schema as graphql_fields_without_schema,
    schema_queries as graphql_queries, schema_tools as graphql_tools,
    source_for_tests as graphql_source, takes_any_document as takes_any_graphql,
};
pub use self::http::source_secrets;
pub use self::{
    call_progress::{CallLimits, CallProgress},
    live_source::{DescriptionStatus, RefreshReport},
};
use self::{
    description::DescriptionCache, first_seen_origins::FirstSeenOrigins, http::HttpClientFactory,
    live_source::LiveSource, source_config::SourceConfig,
};
use mux_text::json_weight as weight;

/// Opens sources, and has those that are open.
#[derive(Debug)]
pub struct Sources {
    /// Where descriptions from elsewhere are kept.
    shelf: Arc<DescriptionCache>,
    client: HttpClientFactory,
    /// Where they were called at first.
    addresses: Arc<FirstSeenOrigins>,
    /// By name, the latest of each.
    standing: Mutex<HashMap<String, Arc<LiveSource>>>,
}

impl Sources {
    /// The folder is made with the first description, and the file that `first_seen_origins` names.
    pub fn new(
        folder: PathBuf,
        addresses: PathBuf,
        client: fn(&mux_settings::NetworkSettings, Option<&Path>) -> Result<ClientBuilder, String>,
    ) -> Self {
        Self {
            shelf: Arc::new(DescriptionCache::new(folder)),
            client,
            addresses: Arc::new(FirstSeenOrigins::new(addresses)),
            standing: Mutex::default(),
        }
    }

    /// Reads the description, from where it is kept if it is there. What is received is another source whenever
    /// the description has changed. An error tells a person what to do, or that it took longer than `schema_walk`.
    pub async fn open(
        &self,
        name: &str,
        settings: &mux_settings::SourceDefinition,
        within: Duration,
    ) -> Result<watch::Receiver<Arc<dyn Source>>, String> {
        let mut making = self.build_config(name, settings);
        if let Some(before) = self.lock_live_sources().get(name) {
            making = before.followed_by(making);
        }
        let opening = LiveSource::open(making, Arc::clone(&self.shelf), within);
        let (standing, source) = opening.await?;
        self.lock_live_sources().insert(name.to_owned(), standing);
        Ok(source)
    }

    /// Looks at the description again now, if the source is open.
    pub async fn refresh(&self, name: &str) -> Option<Result<RefreshReport, String>> {
        let standing = self.find_open(name)?;
        Some(standing.refresh().await)
    }

    /// The source as it is described now, if it is open.
    pub fn current(&self, name: &str) -> Option<Arc<dyn Source>> {
        self.find_open(name).map(|standing| standing.current())
    }

    /// What is known of the description: of an open source, or of what is kept.
    pub fn description_status_of(
        &self,
        name: &str,
        settings: &mux_settings::SourceDefinition,
    ) -> DescriptionStatus {
        match self.find_open(name) {
            Some(standing) => standing.described(),
            None => LiveSource::unopened(&self.build_config(name, settings), &self.shelf),
        }
    }

    fn build_config(&self, name: &str, settings: &mux_settings::SourceDefinition) -> SourceConfig {
        SourceConfig::new(name, settings, self.client, Arc::clone(&self.addresses))
    }

    fn find_open(&self, name: &str) -> Option<Arc<LiveSource>> {
        self.lock_live_sources()
            .get(name)
            .filter(|it| it.is_open())
            .cloned()
    }

    fn lock_live_sources(&self) -> MutexGuard<'_, HashMap<String, Arc<LiveSource>>> {
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
    fn function_count(&self) -> usize;

    /// What there is to say of it.
    fn report(&self) -> SourceReport {
        SourceReport::default()
    }

    /// The other functions whose work a call does, one after the other. It takes as long as the arguments are made for,
    /// within limits, and so is no work for the runtime's threads.
    fn equivalent_fields(
        &self,
        _tool: &str,
        _arguments: &Map<String, Value>,
        _judge: &mut FieldJudge<'_>,
    ) -> Result<CallEffects, DocumentError> {
        Ok(CallEffects::default())
    }

    /// MCP's `CallToolResult`. Dropping the future gives the request up.
    fn call(
        self: Arc<Self>,
        tool: String,
        arguments: Map<String, Value>,
        telling: CallProgress,
    ) -> BoxFuture<'static, Result<Value, CallFailure>>;
}

/// What a user may want to know of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// What to look at: operations that were left out, credentials that fit nothing.
    pub notes: Vec<SourceNote>,
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
pub struct SourceNote {
    pub text: String,
    /// What to do about it, where that is one thing.
    pub fix: Option<String>,
}

impl SourceNote {
    fn with_fix(text: String, fix: String) -> Self {
        let fix = Some(fix);
        Self { text, fix }
    }
}

impl From<String> for SourceNote {
    fn from(text: String) -> Self {
        Self { text, fix: None }
    }
}

impl fmt::Display for SourceNote {
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
