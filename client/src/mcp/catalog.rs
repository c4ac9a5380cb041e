//! The tools that this server lists: the built-in ones with the inventory, and server tools.
//!
//! Invariant: a change is announced only if the list differs from the list that the agent has seen, because every
//! change invalidates the agent's prompt cache.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use mux_proto::{
    Error, Inventory, InventoryRequest, MissingServer, MuxClient, ToolInfo, ToolList, ToolsRequest,
};
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::{
    McpOptions, ServedTools,
    builtins::{self, DefinitionTexts},
    daemon_link::DaemonLink,
    fence::FenceRules,
    listed_names::ListedNames,
    profiles::SessionProfile,
    run_texts, tool_results,
};

/// How long a list request waits, in total, for servers whose tools were never listed before. With the rest of its
/// work, the request takes less than 2 s. Later tools are announced as a list change. Agents wait 5 s or longer, and
/// then lose every tool.
pub(super) const LIST_PATIENCE: Duration = Duration::from_millis(1_800);
/// The timeout of a list request, in seconds.
const LIST_TIMEOUT_SECONDS: u64 = 60;
/// How long the instructions wait for the names of the servers.
const INSTRUCTIONS_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct ToolCatalog(Arc<ToolCatalogInner>);

struct ToolCatalogInner {
    link: DaemonLink,
    show: ServedTools,
    inventory_tokens: Option<usize>,
    structured: bool,
    profile: SessionProfile,
    seen: Mutex<SeenTools>,
}

#[derive(Default)]
struct SeenTools {
    names: ListedNames,
    /// The digest of the list that the agent has.
    digest: Option<[u8; 32]>,
    fence: FenceRules,
}

impl ToolCatalog {
    pub(super) fn new(link: DaemonLink, options: &McpOptions, profile: SessionProfile) -> Self {
        Self(Arc::new(ToolCatalogInner {
            structured: options.structured,
            profile,
            link,
            show: options.show.clone(),
            inventory_tokens: options.inventory_tokens,
            seen: Mutex::default(),
        }))
    }

    /// Lists the tools for the agent, and remembers the list as seen.
    pub(super) async fn list(&self) -> Result<Vec<Tool>, Error> {
        let listed = self.list_all_tools().await;
        // An agent that got an error is told when there is a list.
        let tools: &[Tool] = listed.as_deref().unwrap_or_default();
        self.seen().digest = Some(list_digest(&tools));
        listed
    }

    /// Returns true if the list differs from the list that the agent has seen. False if the agent has never requested
    /// the list.
    pub(super) async fn has_changed(&self) -> bool {
        let Some(known) = self.seen().digest else {
            return false;
        };
        match self.list_all_tools().await {
            Ok(tools) => list_digest(&tools) != known,
            // The agent's next request reports the error.
            Err(_) => false,
        }
    }

    /// The path of a server's tool, by its name in this list.
    pub(super) async fn resolve_tool_path(&self, name: &str) -> Result<Option<String>, Error> {
        if let Some(path) = self.resolve_known_name(name) {
            return Ok(Some(path));
        }
        let own = match &self.0.show {
            ServedTools::Server(server) => Some(format!("{server}.{name}")),
            _ => None,
        };
        if own.is_some() && self.has_listed() {
            return Ok(own);
        }
        // An agent may call a tool that it remembers from another session.
        self.list_all_tools().await?;
        Ok(self.resolve_known_name(name).or(own))
    }

    /// For which servers results are enclosed, as of the last list.
    pub(super) fn fence_rules(&self) -> FenceRules {
        self.seen().fence.clone()
    }

    /// The instructions of this MCP server: our own, or those of the only server that is shown.
    pub(super) async fn instructions(&self) -> Option<String> {
        match &self.0.show {
            ServedTools::Programs => {
                let names = self.fetch_inventory(run_texts::names_request());
                let names = timeout(INSTRUCTIONS_PATIENCE, names).await;
                let names = names.ok().and_then(Result::ok);
                Some(run_texts::instructions(names.as_ref()))
            }
            ServedTools::Everything => None,
            ServedTools::Server(server) => {
                let request = ToolsRequest {
                    server: Some(server.clone()),
                    limit: Some(0),
                    wait_ms: Some(millis(LIST_PATIENCE)),
                    ..ToolsRequest::default()
                };
                let link = &self.0.link;
                let answer = link.request(LIST_TIMEOUT_SECONDS, request, MuxClient::tools);
                // Instructions are optional.
                let mut listed = answer.await.ok()?;
                let own = listed.instructions.pop().map(|own| own.text);
                own.or_else(|| failure_of(&listed.missing).map(tool_results::render_error))
            }
        }
    }

    /// All tool names, for the error about an unknown tool.
    pub(super) fn known_names(&self) -> Vec<String> {
        let own = match self.0.show {
            ServedTools::Programs => builtins::BUILTIN_TOOLS,
            _ => &[],
        };
        let seen = self.seen();
        let given = seen.names.assigned_names().map(str::to_owned);
        own.iter()
            .map(|name| (*name).to_owned())
            .chain(given)
            .collect()
    }

    fn has_listed(&self) -> bool {
        self.seen().names.assigned_names().next().is_some()
    }

    fn resolve_known_name(&self, name: &str) -> Option<String> {
        let seen = self.seen();
        let named = seen.names.find(name)?;
        Some(format!("{}.{}", named.server, named.name))
    }

    async fn list_all_tools(&self) -> Result<Vec<Tool>, Error> {
        let began = Instant::now();
        let show = &self.0.show;
        let listed = match show {
            ServedTools::Programs => self.fetch_tools(None, true).await?,
            ServedTools::Everything => self.fetch_tools(None, false).await?,
            ServedTools::Server(server) => self.fetch_tools(Some(server.clone()), false).await?,
        };
        if let (ServedTools::Server(_), Some(error)) = (show, failure_of(&listed.missing)) {
            return Err(error.clone());
        }
        let offered = listed.tools;
        let mut tools = match show {
            ServedTools::Programs => {
                let left = LIST_PATIENCE.saturating_sub(began.elapsed());
                builtins::builtin_definitions(&self.definition_texts(left).await?)
            }
            _ => Vec::new(),
        };
        let mut names = ListedNames::default();
        let given: Vec<String> = if let ServedTools::Server(server) = show {
            let own: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            names.assign_own_names(server, &own)
        } else {
            let each = offered.iter();
            each.map(|tool| names.assign_name(&tool.server, &tool.name))
                .collect()
        };
        for (tool, name) in offered.iter().zip(given) {
            tools.push(tool_definition(tool, name));
        }
        let mut seen = self.seen();
        seen.names = names;
        seen.fence = FenceRules::new(listed.fence);
        drop(seen);
        Ok(tools)
    }

    async fn definition_texts(&self, wait: Duration) -> Result<DefinitionTexts, Error> {
        let ToolCatalogInner {
            profile,
            inventory_tokens,
            structured,
            link,
            ..
        } = &*self.0;
        let request =
            |current, wait| run_texts::inventory_request(current, *inventory_tokens, millis(wait));
        let mut current = profile.get();
        let mut inventory = self.fetch_inventory(request(current, wait)).await?;
        if profile.set_configured(inventory.profile.as_deref()) {
            current = profile.get();
            link.update_identity(|me| me.profile = Some(current.name.clone()));
            inventory = self
                .fetch_inventory(request(current, Duration::ZERO))
                .await?;
        }
        Ok(DefinitionTexts {
            run: run_texts::run_texts(current, &inventory),
            structured: *structured,
            meta: current.tool_meta.clone(),
        })
    }

    async fn fetch_inventory(&self, request: InventoryRequest) -> Result<Inventory, Error> {
        self.0.link.request(30, request, MuxClient::inventory).await
    }

    async fn fetch_tools(&self, server: Option<String>, direct: bool) -> Result<ToolList, Error> {
        let request = ToolsRequest {
            server,
            direct,
            definitions: true,
            wait_ms: Some(millis(LIST_PATIENCE)),
            ..ToolsRequest::default()
        };
        let link = &self.0.link;
        let asked = link.request(LIST_TIMEOUT_SECONDS, request, MuxClient::tools);
        asked.await
    }

    fn seen(&self) -> MutexGuard<'_, SeenTools> {
        self.0.seen.lock()
    }
}

/// Why the only server that is shown has no list, unless the list may follow soon.
pub(super) fn failure_of(missing: &[MissingServer]) -> Option<&Error> {
    let error = &missing.first()?.error;
    let details = error.details.as_ref();
    let may_follow = details.is_some_and(|details| details["not_ready"] == true);
    (!may_follow).then_some(error)
}

pub(super) fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

/// A server's tool definition, with its name in this list.
fn tool_definition(info: &ToolInfo, name: String) -> Tool {
    let whole = info.definition.clone();
    let mut tool = whole
        .and_then(|whole| serde_json::from_value::<Tool>(whole).ok())
        .unwrap_or_else(|| {
            let description = info.description.clone().unwrap_or_default();
            Tool::new(name.clone(), description, Arc::new(any_object_schema()))
        });
    tool.name = name.into();
    // Clients reject a list with any other output schema, but results of an API may be arrays.
    let describes_an_object =
        |schema: &Arc<JsonObject>| schema.get("type").is_some_and(|it| it == "object");
    tool.output_schema = tool.output_schema.filter(describes_an_object);
    tool
}

fn any_object_schema() -> JsonObject {
    JsonObject::from_iter([("type".to_owned(), "object".into())])
}

/// A digest that identifies a list.
pub(super) fn list_digest(list: &impl Serialize) -> [u8; 32] {
    // A list that cannot be serialized could not be sent either.
    let text = serde_json::to_vec(list).unwrap_or_default();
    Sha256::digest(text).into()
}
