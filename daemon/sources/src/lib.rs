//! OpenAPI and GraphQL APIs as sources of tools. To the crates above, a source is a server that runs in this process.
//!
//! The crate uses `mux-settings`, `mux-http`, `mux-schema`, `mux-typegen` and the crates for callers, secrets,
//! telemetry, text, files and processes. The crate knows nothing of sessions, the catalog or policy: `mux-upstream`'s
//! `link/in_process` serves a source as an MCP server, so catalog, types, pins, policy and states are the same as for
//! servers.
//!
//! # From a description to calls
//!
//! - `description` has the locations of descriptions: a watched file, or a URL (`description_fetcher`) whose responses
//!   are cached (`description_cache`), both decoded by `description_bytes`. A cached description is used immediately,
//!   whatever its age, and refreshed in the background.
//! - `source` is the interface of all sources: functions, calls, and the reasons a call fails. `live_source` is an open
//!   source and the description that it follows. A new description replaces the old one only if all of it was read.
//!   `source_config` is the configuration of a source, and `call_progress` the progress and the time limits of a call in
//!   flight. `tool_pages` holds a long list of functions.
//! - `first_seen_origins` records the origins at which each source was called, and its tokens fetched, when its
//!   description was first read.
//! - `openapi` makes a function from each operation. `openapi_document` parses the text, with `repeated_keys` and
//!   `foreign_formats`, and resolves references. `openapi_description` reads all operations, and `operation` a single
//!   one. `function_names`, `parameters`, `operation_body` with `media_types`, `operation_responses`,
//!   `paging_detection`, `security_requirements` and `server_address` each read a part of it. `schema_dialect`,
//!   `schema_keywords`, `object_members`, `schema_closure` and `schema_walk` translate schemas to JSON Schema.
//!   `parameter_style` and `operation_request` build the request.
//! - `graphql` makes a function of each field of the root types. The schema comes from introspection
//!   (`introspection_fetcher`, `introspection`) or from SDL (`sdl`) and becomes a `schema_model`. `tool_list` makes
//!   tools of it, with `argument_schema`, `default_selection`, `result_schema`, `scalar_types` and `description_text`.
//!   `graphql_endpoint` calls them, with `function_call`, `custom_selection`, `value_literal`, `graphql_response` and
//!   `entry_schemes`. `query_document` and `equivalent_fields` find the functions that a caller's own document amounts
//!   to, for policy.
//! - `http` sends requests. `api_client` is an API at its address, with `request_credentials` and `token_fetcher`,
//!   within `allowed_origins`, at the rate of `source_rate_limiter`, retried by `retry_policy`. `send_request`,
//!   `body_encoding`, `dot_segments`, `api_response`, `call_result`, `error_reason` are the parts of a request and its
//!   response. `pagination` joins pages, with `next_page`, `paging_hints` and `link_header`. `secret_mask` removes
//!   secrets from responses. `entry_state` outlives a description.
//!
//! Descriptions are read as JSON values, because schemas must stay JSON Schema and a broken operation must not affect
//! the others. A tool carries the schemas to which it refers: argument schemas as far as they fit, result schemas up to
//! a fixed size. Reading has a limited number of steps, because a thread that reads cannot be stopped. JSON is weighed
//! before it is parsed, and is moved, never copied.
//!
//! Invariants:
//!
//! - A request is sent again only if it did not leave the daemon, or if the API says that it was not accepted. Time
//!   spent waiting for `source_rate_limiter` does not count against the call.
//! - No credential is in a result, an error or the log. Credentials go, and functions are called, only where the entry
//!   or the first description says (`allowed_origins`). A later description adds no origin.
//! - `mux_http::address_policy` keeps a description out of networks other than its own, judged by the addresses to
//!   which names resolve at the time of the call.

mod call_progress;
mod description;
mod first_seen_origins;
mod graphql;
mod http;
mod live_source;
pub mod openapi;
mod source;
mod source_config;
mod tool_pages;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use mux_messages::RefreshedSource;
use parking_lot::Mutex;
use tokio::sync::watch;

pub use self::graphql::{
    CallEffects, DocumentError, EquivalentField, FieldJudge,
    depends_on_arguments as graphql_depends_on_arguments,
    equivalent_fields_without_schema as graphql_fields_without_schema,
    schema_queries as graphql_queries, schema_tools as graphql_tools,
    source_for_tests as graphql_source, takes_any_document as takes_any_graphql,
};
pub use self::http::source_secrets;
pub use self::{
    call_progress::{CallLimits, CallProgress},
    live_source::DescriptionStatus,
    source::{CallFailure, SOURCE_WARNING, Source, SourceReport},
};
use self::{
    description::DescriptionCache, first_seen_origins::FirstSeenOrigins, live_source::LiveSource,
    source_config::SourceConfig,
};

/// The sources that are open.
#[derive(Debug)]
pub struct Sources {
    /// The cache of remote descriptions.
    cache: Arc<DescriptionCache>,
    /// The origins that each description named when it was first read.
    addresses: Arc<FirstSeenOrigins>,
    /// The latest source with each name.
    live: Mutex<HashMap<String, Arc<LiveSource>>>,
}

impl Sources {
    /// Creates nothing on disk: `folder` appears with the first cached description, the file `addresses` with the first
    /// source.
    pub fn new(folder: PathBuf, addresses: PathBuf) -> Self {
        Self {
            cache: Arc::new(DescriptionCache::new(folder)),
            addresses: Arc::new(FirstSeenOrigins::new(addresses)),
            live: Mutex::default(),
        }
    }

    /// Reads the description, from the cache if it is there. The receiver gets a new source whenever the description
    /// changes. An error tells the user what to do, or that opening took longer than `within`.
    pub async fn open(
        &self,
        name: &str,
        settings: &mux_settings::SourceDefinition,
        within: Duration,
    ) -> Result<watch::Receiver<Arc<dyn Source>>, String> {
        let mut config = self.build_config(name, settings);
        if let Some(before) = self.live.lock().get(name) {
            config = before.followed_by(config);
        }
        let opening = LiveSource::open(config, Arc::clone(&self.cache), within);
        let (live, source) = opening.await?;
        self.live.lock().insert(name.to_owned(), live);
        Ok(source)
    }

    /// Refreshes the description now. `None` if the source is not open.
    pub async fn refresh(&self, name: &str) -> Option<Result<RefreshedSource, String>> {
        let live = self.find_open(name)?;
        Some(live.refresh().await)
    }

    /// The source with its current description. `None` if the source is not open.
    pub fn current(&self, name: &str) -> Option<Arc<dyn Source>> {
        self.find_open(name).map(|live| live.current())
    }

    /// The status of an open source's description, or of the cached description.
    pub fn description_status_of(
        &self,
        name: &str,
        settings: &mux_settings::SourceDefinition,
    ) -> DescriptionStatus {
        match self.find_open(name) {
            Some(live) => live.described(),
            None => LiveSource::unopened(&self.build_config(name, settings), &self.cache),
        }
    }

    fn build_config(&self, name: &str, settings: &mux_settings::SourceDefinition) -> SourceConfig {
        SourceConfig::new(name, settings, Arc::clone(&self.addresses))
    }

    fn find_open(&self, name: &str) -> Option<Arc<LiveSource>> {
        self.live
            .lock()
            .get(name)
            .filter(|live| live.is_open())
            .cloned()
    }
}
