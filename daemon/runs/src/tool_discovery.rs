//! Tool discovery for programs and clients: search, descriptions, lists and the inventory.
//!
//! Invariant: all functions see the tools through the caller's [`Scope`]. A server is started only if the caller names
//! it, or passes how long to wait for it.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use mux_messages::{Inventory, InventoryRequest, ServerState};
use mux_typegen::names::spell;
use mux_wire::{Fault, FaultKind};
use serde::Serialize;
use tokio::time::timeout;

use crate::program_check::ToolViewer;
use mux_catalog::{
    Catalog, CatalogReader, KnownServer, Tool, ToolSet,
    inventory::{self, InventoryBudget, InventoryLine, InventoryServer},
    search::{self, SearchQuery, SearchResults},
};
use mux_gateway::Gateway;
use mux_settings::projects::WorkspaceContext;
use mux_text::tool_path::{plain_spelling, read_tool_path};
use mux_upstream::{CallerIdentity, Server, Upstreams};

/// The maximum number of paths in one `describe`.
const MAX_DESCRIBED_PATHS: usize = 100;
/// The default and the maximum number of search results on a page.
const DEFAULT_PAGE_RESULTS: usize = 10;
const MAX_PAGE_RESULTS: usize = 100;
/// The maximum length of a description in a list, in characters.
const MAX_SUMMARY_CHARS: usize = 200;
/// The lengths to which descriptions are shortened until a page of results fits its budget. At the last length, results
/// are left to the next page.
const SUMMARY_STEPS: [usize; 3] = [MAX_SUMMARY_CHARS, 120, 60];
/// The longest time that an answer waits for servers.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(10);
const DEFAULT_INVENTORY_TOKENS: usize = 2_000;
/// The maximum length of a server's purpose in the inventory, in characters.
const MAX_PURPOSE_CHARS: usize = 120;

/// Tool discovery on behalf of one caller.
pub struct ToolDiscovery<'a> {
    pub upstreams: &'a Upstreams,
    pub viewer: ToolViewer,
}

/// A tool found by its path.
pub struct DescribedTool {
    pub tools: Arc<ToolSet>,
    pub tool: Arc<Tool>,
}

/// A server as listed by `mux.catalog.namespaces`.
#[derive(Serialize)]
pub struct NamespaceSummary {
    pub name: String,
    /// The number of tools. `None` if they are not known yet.
    pub tools: Option<usize>,
    pub state: ServerState,
}

impl ToolDiscovery<'_> {
    pub fn catalog(&self) -> &Catalog {
        self.upstreams.catalog()
    }

    /// A tool's signature as visible to the caller.
    pub(super) fn signature(&self, tools: &ToolSet, tool: &Tool) -> String {
        self.catalog()
            .signature_in(tools, tool, &self.viewer.reader)
    }

    fn known_servers(&self) -> Vec<KnownServer> {
        self.upstreams.known_visible(&self.viewer.scope)
    }

    /// Servers whose tools are unknown, because they were never connected.
    pub fn unlisted_server_names(&self) -> Vec<String> {
        let unknown = self.unlisted_servers();
        unknown.iter().map(|s| s.name().to_owned()).collect()
    }

    fn unlisted_servers(&self) -> Vec<Arc<Server>> {
        let mut servers = self.upstreams.visible_servers(&self.viewer.scope);
        servers.retain(|server| server.tools().is_none() && server.definition().is_ok());
        servers
    }

    /// Searches tools. `limit` is clamped to between 1 and [`MAX_PAGE_RESULTS`].
    pub async fn search(
        &self,
        text: String,
        server: Option<&str>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<SearchResults, Fault> {
        let server = server
            .map(|name| self.upstreams.find_visible(name, &self.viewer.scope))
            .transpose()?;
        let query = SearchQuery {
            text,
            server: server.map(|server| server.name().to_owned()),
            limit: limit
                .unwrap_or(DEFAULT_PAGE_RESULTS)
                .clamp(1, MAX_PAGE_RESULTS),
            cursor,
        };
        search::search(&self.known_servers(), &query).await
    }

    /// Shortens descriptions, and then the page, until its signatures and descriptions take at most `budget` tokens. At
    /// least one result stays. Returns the signature and the description of each result.
    pub fn fit_page(
        &self,
        page: &mut SearchResults,
        budget: usize,
    ) -> Vec<(String, Option<String>)> {
        let signatures: Vec<String> = page
            .hits
            .iter()
            .map(|hit| {
                let signature = self.signature(&hit.tools, &hit.tool);
                let is_read_only = hit.tool.read_only == Some(true);
                inventory::mark_read_only(&signature, is_read_only).into_owned()
            })
            .collect();
        let mut descriptions = Vec::new();
        let mut fitting = 0;
        for chars in SUMMARY_STEPS {
            descriptions = page
                .hits
                .iter()
                .map(|hit| shortened_description(&hit.tool, chars))
                .collect();
            let mut left = budget;
            fitting = signatures
                .iter()
                .zip(&descriptions)
                .take_while(|(signature, description)| {
                    let description = description.as_deref().unwrap_or_default();
                    let cost = inventory::tokens(&format!("{signature}  // {description}\n"));
                    let rest = left.checked_sub(cost);
                    left = rest.unwrap_or_default();
                    rest.is_some()
                })
                .count();
            if fitting == signatures.len() {
                break;
            }
        }
        page.truncate(fitting.max(1));
        let shown = signatures.into_iter().zip(descriptions);
        shown.take(page.hits.len()).collect()
    }

    /// Builds the search index ahead of the first search.
    pub async fn build_index(&self) {
        search::build_index(&self.known_servers()).await;
    }

    /// The instructions of servers, verbatim: of the servers that `of` names without a tool, or of all visible servers.
    pub fn instructions(&self, of: Option<&[String]>) -> Vec<(String, Arc<str>)> {
        let servers = match of {
            None => self.upstreams.visible_servers(&self.viewer.scope),
            Some(paths) => {
                let names = paths.iter().map(|path| plain_spelling(path));
                let found = names
                    .filter_map(|name| self.upstreams.find_visible(&name, &self.viewer.scope).ok());
                found.collect()
            }
        };
        let mut seen = std::collections::HashSet::new();
        let distinct = servers
            .iter()
            .filter(|server| seen.insert(server.name().to_owned()));
        distinct
            .filter_map(|server| {
                let tools = server.tools()?;
                Some((server.name().to_owned(), Arc::clone(tools.instructions()?)))
            })
            .collect()
    }

    /// The tools at the paths (`server.tool`, `server.group` or `server`), and a fault for each path without a tool.
    /// Connects servers whose tools are unknown.
    pub async fn describe(
        &self,
        paths: &[String],
    ) -> Result<(Vec<DescribedTool>, Vec<Fault>), Fault> {
        if paths.len() > MAX_DESCRIBED_PATHS {
            let message = format!(
                "{} paths are over the limit of {MAX_DESCRIBED_PATHS}",
                paths.len()
            );
            return Err(Fault::new(FaultKind::Validation, message).hint("describe fewer at once"));
        }
        let mut described: Vec<DescribedTool> = Vec::new();
        let mut missing = Vec::new();
        for found in join_all(paths.iter().map(|path| self.describe_path(path))).await {
            match found {
                Ok(found) => described.extend(found),
                Err(fault) => missing.push(fault),
            }
        }
        let mut seen = std::collections::HashSet::new();
        described.retain(|found| seen.insert(Arc::as_ptr(&found.tool)));
        if described.len() > MAX_DESCRIBED_PATHS {
            let message = format!(
                "these are {} tools, over the limit of {MAX_DESCRIBED_PATHS}",
                described.len()
            );
            return Err(
                Fault::new(FaultKind::Limit, message).hint("name the tools instead of servers")
            );
        }
        Ok((described, missing))
    }

    async fn describe_path(&self, path: &str) -> Result<Vec<DescribedTool>, Fault> {
        let is_visible = |server: &str| {
            self.upstreams
                .find_visible(server, &self.viewer.scope)
                .is_ok()
        };
        let read = read_tool_path(path, is_visible);
        let (name, tool) = match read.split_once('.') {
            Some((server, tool)) => (server, Some(tool)),
            None => (read.as_ref(), None),
        };
        let server = self
            .upstreams
            .find_visible(name, &self.viewer.scope)
            .map_err(|fault| fault.path(path))?;
        let tools = if let Some(tools) = server.tools() {
            tools
        } else {
            let held = server.session(&self.viewer.identity).await;
            held.map_err(|fault| fault.path(path))?.session.tools()
        };
        let tools = self.viewer.scope.offered(&tools);
        let one = |tool| DescribedTool {
            tools: Arc::clone(&tools),
            tool,
        };
        match tool {
            Some(name) => {
                let named = mux_gateway::find_tools_or_group(&tools, server.name(), name)?;
                Ok(named.into_iter().map(one).collect())
            }
            None => Ok(tools.iter().map(|tool| one(Arc::clone(tool))).collect()),
        }
    }

    pub fn namespaces(&self) -> Vec<NamespaceSummary> {
        let servers = self.upstreams.visible_servers(&self.viewer.scope);
        let namespaces = servers.iter().map(|server| NamespaceSummary {
            name: server.name().to_owned(),
            tools: server
                .tools()
                .map(|tools| self.viewer.scope.offered(&tools).len()),
            state: server.view().info.state,
        });
        namespaces.collect()
    }

    /// Starts the servers whose tools are unknown, and waits up to `wait` for them. Tools of later servers stay
    /// unknown.
    pub async fn connect_unlisted(&self, wait: Duration) {
        let wait = wait.min(MAX_SERVER_WAIT);
        if !wait.is_zero() {
            let unknown = self.unlisted_servers();
            join_all(unknown.iter().map(|server| {
                timeout(
                    server.list_patience(wait),
                    server.session(&self.viewer.identity),
                )
            }))
            .await;
        }
    }

    /// An inventory of all tools, and the servers whose tools are unknown.
    pub fn inventory(&self, request: &InventoryRequest) -> Inventory {
        let unknown = self.unlisted_server_names();
        let known = self.known_servers();
        let catalog = self.catalog();
        let sets = known.iter().filter_map(|server| {
            let tools = server.tools.as_ref().filter(|tools| !tools.is_empty())?;
            Some((server.name.as_str(), tools))
        });
        let mut servers = Vec::new();
        let mut found = Vec::new();
        for (server, tools) in sets {
            // Sorted, because the server's own order must not change the inventory.
            let named = tools
                .iter()
                .map(|tool| (tools.spelled(tool).into_owned(), tool));
            let mut named: Vec<_> = named.collect();
            named.sort_by(|a, b| a.0.cmp(&b.0));
            let (names, in_order): (Vec<_>, Vec<_>) = named.into_iter().unzip();
            let levels = in_order
                .iter()
                .map(|tool| catalog.use_level(tool, &self.viewer.reader));
            let levels: Vec<u32> = levels.collect();
            let is_read_only = |index: usize| in_order[index].read_only == Some(true);
            servers.push(InventoryServer {
                server: server.to_owned(),
                spelled: spell(server).into_owned(),
                order: inventory::by_need(&names, |index| levels[index], is_read_only),
                levels,
                tools: names,
                purpose: tools.purpose(MAX_PURPOSE_CHARS),
                has_instructions: tools.instructions().is_some(),
            });
            found.push((tools, in_order));
        }
        let line = |server: usize, tool: usize| {
            let (tools, in_order): &(_, Vec<&Arc<Tool>>) = &found[server];
            InventoryLine {
                signature: self.signature(tools, in_order[tool]),
                summary: first_sentence(in_order[tool]),
                is_read_only: in_order[tool].read_only == Some(true),
            }
        };
        let budget = InventoryBudget {
            tokens: request.budget_tokens.unwrap_or(DEFAULT_INVENTORY_TOKENS),
            overview_chars: request.max_overview_chars.unwrap_or(usize::MAX),
            chars: request.max_chars.unwrap_or(usize::MAX),
        };
        Inventory {
            unknown: unknown.clone(),
            ..inventory::render_inventory(&servers, &unknown, budget, line)
        }
    }
}

/// Rebuilds the search index of the global scope after each change. Returns when the catalog is dropped.
pub async fn keep_index_built(gateway: &Gateway) {
    let upstreams = gateway.upstreams();
    let mut news = upstreams.catalog().subscribe_changes();
    loop {
        let viewer = ToolViewer {
            scope: gateway.scope(None, &WorkspaceContext::default()),
            identity: CallerIdentity::default(),
            reader: CatalogReader::user(),
        };
        let discovery = ToolDiscovery { upstreams, viewer };
        discovery.build_index().await;
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// The beginning of a tool's description, for a list.
pub(super) fn description_summary(tool: &Tool) -> Option<String> {
    shortened_description(tool, MAX_SUMMARY_CHARS)
}

fn shortened_description(tool: &Tool, chars: usize) -> Option<String> {
    let text = tool.description.as_deref()?;
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let paragraph = paragraphs.find(|part| !part.is_empty())?;
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        None => Some(line),
        Some((end, _)) => Some(format!("{}…", line[..end].trim_end())),
    }
}

fn first_sentence(tool: &Tool) -> Option<String> {
    let summary = description_summary(tool)?;
    let first = summary.split_inclusive(". ").next()?;
    Some(first.trim_end().to_owned())
}
