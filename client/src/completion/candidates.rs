//! The names that a running daemon knows, or else those in the last tool list and the configuration
//! file.

use std::{collections::BTreeSet, fs, time::Duration};

use mux_proto::{
    ApprovalsRequest, Error, MuxClient, RunState, RunsRequest, SearchRequest, ServerInfo,
    endpoint::Dirs, transport,
};
use mux_typegen::names::{display_path, spell};
use tarpc::{client::RpcError, context::Context};
use tokio::time::timeout;

use super::{
    CompletedName,
    cache::{self, CachedTool, CachedTools},
    signature::signature_arguments,
};
use crate::{
    agents::{ConfigDocument, ConfigFormat},
    process_environment::client_identity,
};

/// The time limit for the answer of a running daemon.
const DAEMON_TIMEOUT: Duration = Duration::from_millis(100);
/// The number of tools on one page of a search, at most.
const MAX_SEARCHED_TOOLS: usize = 100;
const MAX_RUNS: usize = 50;

#[derive(Debug, Eq, PartialEq)]
pub(super) struct NameCandidate {
    pub(super) value: String,
    pub(super) help: Option<String>,
}

/// The candidates for one command line.
#[derive(Debug, Default)]
pub(super) struct CandidateFinder {
    words: Vec<String>,
    /// `None` without a home.
    dirs: Option<Dirs>,
}

impl CandidateFinder {
    pub(super) fn new(words: Vec<String>, dirs: Option<Dirs>) -> Self {
        Self { words, dirs }
    }

    /// The candidates for the word that begins with `current`, possibly with others.
    pub(super) fn named(&self, name: CompletedName, current: &str) -> Vec<NameCandidate> {
        match name {
            CompletedName::Server => self.servers(false),
            CompletedName::Source => self.servers(true),
            CompletedName::Tool => tool_candidates(self.tools(current)),
            CompletedName::ServerOrTool => {
                let tools = self.tools(current);
                let names = tools.values().map(|tool| tool.server.clone());
                let names: BTreeSet<String> = names.chain(self.configured(false)).collect();
                let servers = names.into_iter().map(|name| candidate(name, None));
                servers.chain(tool_candidates(tools)).collect()
            }
            CompletedName::ToolArgument => self.tool_arguments(current),
            CompletedName::Run => self.runs(false, current),
            CompletedName::ActiveRun => self.runs(true, current),
            CompletedName::Approval => self.approvals(),
            CompletedName::ApprovalOrRun => {
                let mut both = self.approvals();
                both.extend(self.runs(false, current));
                both
            }
            CompletedName::Grant => self.grants(),
            CompletedName::Secret => self.secrets(),
        }
    }

    /// All servers, or only sources. Without a daemon, those in the configuration file.
    fn servers(&self, sources_only: bool) -> Vec<NameCandidate> {
        let asked = self.ask(async |client, context| client.servers(context).await);
        if let Some(servers) = asked {
            let is_meant = |server: &ServerInfo| !sources_only || server.source.is_some();
            let servers = servers.into_iter().filter(is_meant);
            let named = servers.map(|server| candidate(server.name, Some(server.command)));
            named.collect()
        } else {
            let names = self.configured(sources_only);
            names
                .into_iter()
                .map(|name| candidate(name, None))
                .collect()
        }
    }

    /// The names of the entries in the configuration file.
    fn configured(&self, sources_only: bool) -> Vec<String> {
        let file = self.dirs.as_ref().map(Dirs::config_file);
        let text = file
            .and_then(|file| fs::read(file).ok())
            .unwrap_or_default();
        let Ok(document) = ConfigDocument::parse(&text, ConfigFormat::Toml) else {
            return Vec::new();
        };
        let sections: &[&str] = if sources_only {
            &["sources"]
        } else {
            &["servers", "sources"]
        };
        let entries = sections
            .iter()
            .flat_map(|name| document.section_entries(&[name]));
        entries.map(|(name, _)| name.to_owned()).collect()
    }

    /// The tools whose path may begin with `current`.
    fn tools(&self, current: &str) -> CachedTools {
        let mut tools = self.cached();
        let server = match current.split_once('.') {
            Some((server, _)) => Some(server.to_owned()),
            None => self.only_server(current, &tools),
        };
        let request = SearchRequest {
            query: " ".into(),
            server: server.clone(),
            limit: Some(MAX_SEARCHED_TOOLS),
            ..SearchRequest::default()
        };
        let Some((found, is_whole)) = self.search(request) else {
            return tools;
        };
        if is_whole {
            let is_asked = |name: &str| {
                let server = server.as_deref();
                server.is_none_or(|server| spell(server) == spell(name))
            };
            tools.retain(|_, tool| !is_asked(&tool.server));
        }
        tools.extend(found);
        tools
    }

    /// The server whose name begins with these letters, if there is only one.
    fn only_server(&self, letters: &str, tools: &CachedTools) -> Option<String> {
        let names = tools.values().map(|tool| tool.server.clone());
        let names: BTreeSet<String> = names.chain(self.configured(false)).collect();
        let mut names = names
            .into_iter()
            .filter(|name| spell(name).starts_with(letters));
        match (names.next(), names.next()) {
            (Some(only), None) if !letters.is_empty() => Some(only),
            _ => None,
        }
    }

    /// `name=` for each argument that the tool of the command line takes and that is not given yet.
    fn tool_arguments(&self, current: &str) -> Vec<NameCandidate> {
        // Some shells split words at `=`: then this is a value.
        let is_value = |pair: &[String]| pair[0] == "=" && pair[1] == current;
        let ends_with_sign = self.words.last().is_some_and(|word| word == "=");
        if ends_with_sign || current.contains('=') || self.words.windows(2).any(is_value) {
            return Vec::new();
        }
        let Some(path) = self.words.iter().find(|word| is_tool_path(word)) else {
            return Vec::new();
        };
        let Some(tool) = self.tool(path) else {
            return Vec::new();
        };
        let is_given = |name: &str| {
            let mut words = self.words.iter();
            words.any(|word| word == name || word.strip_prefix(name).is_some_and(starts_value))
        };
        signature_arguments(&tool.signature)
            .into_iter()
            .filter(|argument| argument.name == current || !is_given(&argument.name))
            .map(|argument| candidate(format!("{}=", argument.name), Some(argument.kind)))
            .collect()
    }

    fn tool(&self, path: &str) -> Option<CachedTool> {
        let wanted = display_path(path);
        if let Some(tool) = self.cached().remove(&*wanted) {
            return Some(tool);
        }
        // The best match of a whole path is its tool.
        let request = SearchRequest {
            query: path.to_owned(),
            server: path.split_once('.').map(|(server, _)| server.to_owned()),
            limit: Some(1),
            ..SearchRequest::default()
        };
        self.search(request)?.0.remove(&*wanted)
    }

    /// One page of results, and whether it has all of them. No server is started.
    fn search(&self, request: SearchRequest) -> Option<(CachedTools, bool)> {
        let page = self.ask(async |client, context| client.search(context, request).await)?;
        let is_whole = page.next.is_none() && page.unknown.is_empty();
        let tools = page.results.into_iter().map(|hit| {
            let description = hit.description.as_deref();
            let tool = CachedTool::new(&hit.server, &hit.signature, description);
            (hit.path, tool)
        });
        Some((tools.collect(), is_whole))
    }

    /// Runs by their numbers, or by their ids if `current` begins an id.
    fn runs(&self, active: bool, current: &str) -> Vec<NameCandidate> {
        let request = RunsRequest {
            running: active,
            limit: Some(MAX_RUNS),
        };
        let list = self.ask(async |client, context| client.runs(context, request).await);
        let runs = list.into_iter().flat_map(|list| list.runs);
        runs.map(|run| {
            let number = run.run.rsplit_once('-').map(|(_, number)| number);
            let number = number.filter(|number| number.starts_with(current));
            let open = matches!(run.state, RunState::Waiting | RunState::Running);
            let state = if open { "active" } else { "ended" };
            let help = format!("{state}: {}", run.title);
            candidate(number.unwrap_or(&run.run).to_owned(), Some(help))
        })
        .collect()
    }

    fn approvals(&self) -> Vec<NameCandidate> {
        let list = self.list_approvals(ApprovalsRequest::default());
        let approvals = list.into_iter().flat_map(|list| list.approvals);
        let named = approvals.map(|approval| {
            let path = display_path(&approval.path).into_owned();
            candidate(approval.approval, Some(path))
        });
        named.collect()
    }

    fn grants(&self) -> Vec<NameCandidate> {
        let list = self.list_approvals(ApprovalsRequest {
            granted: true,
            ..ApprovalsRequest::default()
        });
        let grants = list.into_iter().flat_map(|list| list.granted);
        let named = grants.map(|grant| {
            let path = display_path(&grant.path).into_owned();
            candidate(grant.grant, Some(path))
        });
        named.collect()
    }

    fn list_approvals(&self, request: ApprovalsRequest) -> Option<mux_proto::ApprovalList> {
        self.ask(async |client, context| client.approvals(context, request).await)
    }

    fn secrets(&self) -> Vec<NameCandidate> {
        let list = self.ask(async |client, context| client.list_secrets(context).await);
        let secrets = list.into_iter().flat_map(|list| list.secrets);
        secrets.map(|secret| candidate(secret.name, None)).collect()
    }

    fn cached(&self) -> CachedTools {
        self.dirs.as_ref().map(cache::read).unwrap_or_default()
    }

    /// Asks the running daemon. `None` if there is none, or if it does not answer in time.
    fn ask<T>(
        &self,
        request: impl AsyncFnOnce(&MuxClient, Context) -> Result<Result<T, Error>, RpcError>,
    ) -> Option<T> {
        let dirs = self.dirs.as_ref()?;
        // Connecting creates directories.
        mux_client::lock_holder(dirs).ok()??;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        let asked = async {
            let me = client_identity();
            let session = mux_client::connect(dirs, &me).await.ok()?;
            let context = transport::within(DAEMON_TIMEOUT);
            request(&session.client, context).await.ok()?.ok()
        };
        let answer = runtime.block_on(async { timeout(DAEMON_TIMEOUT, asked).await });
        runtime.shutdown_background();
        answer.ok().flatten()
    }
}

fn candidate(value: String, help: Option<String>) -> NameCandidate {
    NameCandidate { value, help }
}

fn tool_candidates(tools: CachedTools) -> Vec<NameCandidate> {
    let tools = tools.into_iter();
    let named = tools.map(|(path, tool)| candidate(path, Some(tool.description)));
    named.collect()
}

/// Returns true if a word may be `server.tool`.
fn is_tool_path(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.contains('.')
}

fn starts_value(rest: &str) -> bool {
    rest.starts_with('=')
}
