//! Tools and types of all servers, as shown to clients.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use mux_proto as wire;
use mux_wire::{Fault, FaultKind};
use tokio::time::{Instant, timeout, timeout_at};

use super::{answer_budget::AnswerBudget, connection::ConnectionState, convert, sources};
use mux_catalog::{
    Catalog, CatalogReader, KnownServer, Tool, ToolSet, TypeTextAudience, imitations,
};
use mux_gateway::NOT_READY_DETAILS;
use mux_process::malloc_trim;
use mux_runs::program_check::ToolViewer;
use mux_text::tool_path::read_tool_path;
use mux_upstream::{CallerIdentity, Server, Upstreams};

/// After an answer with more tools than this, freed memory is returned to the system.
const MEMORY_TRIM_TOOLS: usize = 100;

/// The tools of each server, or why it has none. Servers are started concurrently.
type ServerToolSets = Vec<(Arc<Server>, Result<Arc<ToolSet>, Fault>)>;

/// The tools of each server. A server whose tools are known from its last session is not waited for. The server is
/// still started, because its list may have changed.
async fn list_tool_sets(
    servers: Vec<Arc<Server>>,
    identity: &CallerIdentity,
    wait: Option<Duration>,
) -> ServerToolSets {
    join_all(servers.into_iter().map(|server| async move {
        let tools = match server.tools() {
            Some(tools) => {
                if !server.is_open() {
                    let server = Arc::clone(&server);
                    let identity = identity.clone();
                    tokio::spawn(async move { drop(server.session(&identity).await) });
                }
                Ok(tools)
            }
            None => match wait {
                None => server
                    .session(identity)
                    .await
                    .map(|held| held.session.tools()),
                Some(wait) => {
                    let failure = server.start_failure();
                    if let Ok(held) =
                        timeout(server.list_patience(wait), server.session(identity)).await
                    {
                        held.map(|held| held.session.tools())
                    } else {
                        let starting = || still_starting_fault(server.name(), wait);
                        Err(failure.unwrap_or_else(starting))
                    }
                }
            },
        };
        let tools = match server.listing_error() {
            Some(why) if tools.as_ref().is_ok_and(|tools| tools.is_empty()) => {
                Err(unlisted_fault(server.name(), &why))
            }
            _ => tools,
        };
        (server, tools)
    }))
    .await
}

fn still_starting_fault(server: &str, wait: Duration) -> Fault {
    let message = format!("`{server}` was not ready within {wait:?}");
    Fault {
        details: Some(NOT_READY_DETAILS.into()),
        ..Fault::new(FaultKind::Unavailable, message).hint("it is starting; try again")
    }
}

/// The server has a session, and refuses to list its tools.
fn unlisted_fault(server: &str, why: &str) -> Fault {
    let message = format!("`{server}` is connected, but {why}");
    Fault::new(FaultKind::Unavailable, message).hint("it is asked again from time to time")
}

pub(super) async fn tools(
    upstreams: &Upstreams,
    viewer: &ToolViewer,
    request: wire::ToolsRequest,
) -> wire::Result<wire::ToolList> {
    let ToolViewer {
        scope, identity, ..
    } = viewer;
    let servers = match &request.server {
        Some(name) => vec![upstreams.find_visible(name, scope)?],
        None => upstreams.visible_servers(scope),
    };
    let words: Vec<String> = request
        .query
        .iter()
        .flat_map(|q| q.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    let mut list = wire::ToolList {
        fence: Some(fence_info(&upstreams.visible_servers(scope))),
        ..wire::ToolList::default()
    };
    let catalog = upstreams.catalog();
    let wait = request.wait_ms.map(Duration::from_millis);
    let detail = ToolDetail {
        schemas: request.schemas,
        definitions: request.definitions,
        // A client without `describe` gets the whole description.
        whole: !request.direct,
    };
    let mut budget = AnswerBudget::new();
    let sets = list_tool_sets(servers, identity, wait).await;
    let imitated = imitations(&upstreams.known_visible(scope));
    for (server, tools) in sets {
        // A server that refuses to list its tools may still have instructions.
        if request.server.is_some()
            && let Some(known) = server.tools()
            && let Some(text) = known.instructions()
        {
            let instructions = (server.name().to_owned(), Arc::clone(text));
            list.instructions
                .push(convert::server_instructions(instructions));
        }
        let tools = match tools {
            Ok(tools) if request.for_apps || request.definitions => scope.view(&tools),
            Ok(tools) => scope.offered(&tools),
            Err(fault) => {
                list.missing.push(budget.missing(server.name(), fault));
                continue;
            }
        };
        let wanted = |tool: &&Arc<Tool>| {
            tool_matches(tool, &words) && (!request.direct || scope.offers_directly(tool))
        };
        let wanted: Vec<&Arc<Tool>> = tools.iter().filter(wanted).collect();
        let room = request.limit.unwrap_or(usize::MAX);
        let shown = wanted.iter().take(room.saturating_sub(list.tools.len()));
        let forbidden = sources::uncallable_functions(upstreams, &server);
        let shown = shown.map(|tool| wire::ToolInfo {
            forbidden: forbidden.contains(&*tool.name),
            ..tool_info(catalog, viewer, &tools, tool, detail)
        });
        let mut warnings = tools.warnings.clone();
        warnings.extend(tools.remarks().into_iter().map(|remark| remark.text));
        if !forbidden.is_empty() {
            warnings.push(format!(
                "{}: {} of its functions cannot be called; `mux sources` shows why, and how to allow them",
                server.name(),
                forbidden.len()
            ));
        }
        let imitated = imitated.iter().filter(|(name, _)| name == server.name());
        warnings.extend(imitated.flat_map(|(_, lookalikes)| lookalikes.iter().cloned()));
        match tool_infos(shown, &warnings, &mut budget) {
            Ok(shown) => {
                list.tools.extend(shown);
                list.total += wanted.len();
                list.warnings.extend(warnings);
                if !server.is_open() {
                    list.remembered.push(server.name().to_owned());
                }
            }
            Err(fault) => list.missing.push(budget.missing(server.name(), fault)),
        }
    }
    if list.tools.len() > MEMORY_TRIM_TOOLS {
        malloc_trim::give_back_soon();
    }
    Ok(list)
}

/// The servers whose results the user wants marked as data.
fn fence_info(servers: &[Arc<Server>]) -> wire::FenceInfo {
    let fences = |server: &Server| {
        let definition = server.definition().as_ref();
        definition.map_or(true, |definition| definition.results.fence)
    };
    let default = servers.is_empty() || servers.iter().any(|server| fences(server));
    let others = servers.iter().filter(|server| fences(server) != default);
    wire::FenceInfo {
        default,
        except: others.map(|server| server.name().to_owned()).collect(),
    }
}

/// The tools of one server, if all of them and their warnings fit.
fn tool_infos(
    tools: impl Iterator<Item = wire::ToolInfo>,
    warnings: &[String],
    budget: &mut AnswerBudget,
) -> Result<Vec<wire::ToolInfo>, Fault> {
    let mut left = *budget;
    left.take(warnings)?;
    let listed = tools.map(|tool| left.take(tool));
    let listed = listed.collect::<Result<_, _>>()?;
    *budget = left;
    Ok(listed)
}

fn tool_matches(tool: &Tool, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let title = tool.title.as_deref().unwrap_or_default();
    let description = tool.description.as_deref().unwrap_or_default();
    let text = format!("{} {title} {description}", tool.path()).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// Which details of each tool are included.
#[derive(Clone, Copy, Default)]
pub(super) struct ToolDetail {
    pub(super) schemas: bool,
    pub(super) definitions: bool,
    /// Set if descriptions in definitions are complete.
    pub(super) whole: bool,
}

pub(super) fn tool_info(
    catalog: &Catalog,
    viewer: &ToolViewer,
    tools: &ToolSet,
    tool: &Tool,
    detail: ToolDetail,
) -> wire::ToolInfo {
    let observed = Some(catalog.learned().calls(tool)).filter(|_| viewer.reader.is_user());
    wire::ToolInfo {
        path: tools.path(tool),
        server: tool.server.to_string(),
        name: tools.shown(tool),
        title: tool.title.clone(),
        description: tool.description.clone(),
        signature: catalog.signature_in(tools, tool, &viewer.reader),
        read_only: tool.read_only,
        destructive: tool.destructive,
        annotations: detail.schemas.then(|| tool.annotations()).flatten(),
        input_schema: detail.schemas.then(|| tool.input_schema()),
        output_schema: detail.schemas.then(|| tool.output_schema()).flatten(),
        observed_calls: observed.filter(|calls| *calls > 0 && !tool.has_output_schema()),
        direct: viewer.scope.offers_directly(tool),
        changed: tool.needs_decision(),
        forbidden: false,
        for_apps: tool.is_for_apps,
        definition: detail.definitions.then(|| {
            if detail.whole {
                tool.whole_definition()
            } else {
                tool.definition()
            }
        }),
    }
}

/// The `.d.ts` of everything, of some servers, or of single tools and tool groups.
pub(super) async fn types(
    upstreams: &Upstreams,
    viewer: &ToolViewer,
    request: wire::TypesRequest,
) -> wire::Result<String> {
    let ToolViewer {
        scope,
        identity,
        reader,
    } = viewer;
    let catalog = upstreams.catalog();
    if request.paths.is_empty() {
        let servers = upstreams.visible_servers(scope);
        let known =
            scope.visible_servers(known_servers(list_tool_sets(servers, identity, None).await));
        let types = catalog
            .declare_types(&known, TypeTextAudience::Reader, reader)
            .await;
        return check_types_length(&types.text.read());
    }
    let (tools, servers): (Vec<_>, Vec<_>) = request
        .paths
        .into_iter()
        .partition(|path| path.contains('.'));
    let mut out = String::new();
    if !servers.is_empty() {
        let servers = servers
            .iter()
            .map(|name| upstreams.find_visible(name, scope))
            .collect::<Result<_, _>>()?;
        let sets = list_tool_sets(servers, identity, None).await;
        // The client asked for these servers only, so an unreachable server is an error.
        for (_, set) in &sets {
            if let Err(fault) = set {
                return Err(fault.clone().into());
            }
        }
        let types = catalog
            .declare_types(
                &scope.visible_servers(known_servers(sets)),
                TypeTextAudience::Reader,
                reader,
            )
            .await;
        out.push_str(&types.text.read());
    }
    for path in tools {
        let is_visible = |server: &str| upstreams.find_visible(server, scope).is_ok();
        let path = read_tool_path(&path, is_visible);
        let (server, name) = path.split_once('.').unwrap_or((&path, ""));
        let server = upstreams.find_visible(server, scope)?;
        let (_, set) = list_tool_sets(vec![Arc::clone(&server)], identity, None)
            .await
            .remove(0);
        for tool in mux_gateway::find_tools_or_group(&scope.offered(&set?), server.name(), name)? {
            out.push_str(&catalog.declaration(&tool, reader));
        }
    }
    check_types_length(&out)
}

/// Fails if the types do not fit into an answer. Programs are still checked against longer types.
fn check_types_length(text: &str) -> wire::Result<String> {
    if AnswerBudget::new().take(text).is_ok() {
        return Ok(text.to_owned());
    }
    let message = format!(
        "these types have {} bytes, more than fit into one answer",
        text.len()
    );
    Err(wire::Error::new(FaultKind::Limit, message).hint(
        "request those of one server, group or tool: `mux types SERVER.GROUP`; `exclude` in the entry of a \
         server leaves tools out",
    ))
}

fn known_servers(sets: ServerToolSets) -> Vec<KnownServer> {
    sets.into_iter()
        .map(|(server, tools)| match tools {
            Ok(_) => server.known_tools(),
            Err(fault) => KnownServer {
                name: server.name().to_owned(),
                tools: None,
                note: Some(fault.message),
            },
        })
        .collect()
}

/// Waits until the declarations of all tools differ from the client's, or until `wait` has passed.
pub(super) async fn watch_types(
    upstreams: &Upstreams,
    connection: &ConnectionState,
    known: Option<&str>,
    wait: Duration,
) -> wire::Result<wire::TypesPage> {
    let catalog = upstreams.catalog();
    let mut news = catalog.subscribe_changes();
    let until = Instant::now() + wait;
    loop {
        news.mark_unchanged();
        let scope = connection.scope();
        let seen = upstreams.known_visible(&scope);
        let reader = CatalogReader::file_of_user();
        let types = catalog
            .declare_types(&seen, TypeTextAudience::Checker, &reader)
            .await;
        let name = blake3::Hash::from(types.hash).to_hex().to_string();
        if known != Some(name.as_str()) {
            let text = Some(check_types_length(&types.text.read())?);
            return Ok(wire::TypesPage { name, text });
        }
        // An error means that the daemon is shutting down.
        if !matches!(timeout_at(until, news.changed()).await, Ok(Ok(()))) {
            return Ok(wire::TypesPage { name, text: None });
        }
    }
}

pub(super) fn forget_types(
    upstreams: &Upstreams,
    paths: &[String],
) -> wire::Result<wire::Forgotten> {
    let catalog = upstreams.catalog();
    if paths.is_empty() {
        let tools = catalog.forget_learned(None, None);
        return Ok(wire::Forgotten { tools });
    }
    let mut tools = 0;
    for path in paths {
        let (server, tool) = match path.split_once('.') {
            Some((server, tool)) => (server, Some(tool)),
            None => (path.as_str(), None),
        };
        let server = upstreams.find(server)?;
        // A tool that no longer exists is matched by the name as given.
        let exact = tool.map(
            |name| match server.tools().and_then(|set| set.find(name).cloned()) {
                Some(tool) => tool.name.clone(),
                None => name.to_owned(),
            },
        );
        tools += catalog.forget_learned(Some(server.name()), exact.as_deref());
    }
    Ok(wire::Forgotten { tools })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_exceed_an_answer_are_refused_with_a_hint() {
        let text = "/** \"x\" */\n".repeat(1 << 19);
        assert_eq!(check_types_length(&text).unwrap(), text);
        let fault = check_types_length(&text.repeat(3)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Limit);
        assert!(fault.hint.unwrap().contains("mux types SERVER"));
    }

    #[test]
    fn tools_that_do_not_fit_use_no_budget() {
        let tool = || wire::ToolInfo {
            path: "a.b".into(),
            server: "a".into(),
            name: "b".into(),
            description: Some("x".repeat(1 << 20)),
            ..wire::ToolInfo::default()
        };
        let tools = |count| std::iter::repeat_with(tool).take(count);
        let mut budget = AnswerBudget::new();
        assert_eq!(tool_infos(tools(4), &[], &mut budget).unwrap().len(), 4);
        let fault = tool_infos(tools(100), &[], &mut budget).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Limit);
        assert_eq!(tool_infos(tools(4), &[], &mut budget).unwrap().len(), 4);
        let warnings = vec!["x".repeat(8 << 20)];
        assert!(tool_infos(tools(0), &warnings, &mut budget).is_err());
    }
}
