//! Tools and types as clients see them, over all servers at once.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use mux_proto as wire;
use mux_sandbox::{Fault, typegen::names::spell};
use tokio::time::{Instant, timeout_at};

use super::convert;
use crate::{
    catalog::{Catalog, Known, Tool, ToolSet, Wording},
    gateway,
    upstream::{Server, Upstreams},
};

/// The tools of every server that can be reached; servers are started at the same time.
type Sets = Vec<(Arc<Server>, Result<Arc<ToolSet>, Fault>)>;

/// Nobody waits for a server whose tools are known from its last session. It is started all the same, so
/// that a list which has changed is not believed for ever.
async fn sets(servers: Vec<Arc<Server>>) -> Sets {
    join_all(servers.into_iter().map(|server| async move {
        let tools = match server.tools() {
            Some(tools) => {
                if server.open_session().is_none() {
                    let server = Arc::clone(&server);
                    tokio::spawn(async move { drop(server.session().await) });
                }
                Ok(tools)
            }
            None => server.session().await.map(|session| session.tools()),
        };
        (server, tools)
    }))
    .await
}

pub(super) async fn tools(
    upstreams: &Upstreams,
    request: wire::ToolsRequest,
) -> Result<wire::ToolList, Fault> {
    let servers = match &request.server {
        Some(name) => vec![upstreams.find(name)?],
        None => upstreams.all(),
    };
    let words: Vec<String> = request
        .query
        .iter()
        .flat_map(|q| q.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    let mut list = wire::ToolList {
        tools: Vec::new(),
        total: 0,
        missing: Vec::new(),
        warnings: Vec::new(),
        remembered: Vec::new(),
    };
    let catalog = upstreams.catalog();
    for (server, tools) in sets(servers).await {
        let tools = match tools {
            Ok(tools) => tools,
            Err(fault) => {
                let error = convert::error(fault);
                list.missing.push(wire::MissingServer {
                    server: server.name().to_owned(),
                    error,
                });
                continue;
            }
        };
        if server.open_session().is_none() {
            list.remembered.push(server.name().to_owned());
        }
        list.warnings.extend(tools.warnings.iter().cloned());
        for tool in tools.iter().filter(|tool| matches(tool, &words)) {
            list.total += 1;
            if request.limit.is_none_or(|limit| list.tools.len() < limit) {
                list.tools
                    .push(info(catalog, &tools, tool, request.schemas));
            }
        }
    }
    Ok(list)
}

fn matches(tool: &Tool, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let title = tool.title.as_deref().unwrap_or_default();
    let description = tool.description.as_deref().unwrap_or_default();
    let text = format!("{} {title} {description}", tool.path()).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

fn info(catalog: &Catalog, tools: &ToolSet, tool: &Tool, schemas: bool) -> wire::ToolInfo {
    // Our spelling where it leads to this tool, the exact name where it does not.
    let spelled = spell(&tool.name);
    let reaches = tools
        .find(&spelled)
        .is_some_and(|found| found.name == tool.name);
    let name = if reaches {
        spelled.as_ref()
    } else {
        &tool.name
    };
    let path = format!("{}.{name}", spell(&tool.server));
    let observed = Some(catalog.learned().calls(tool));
    let mut signature = catalog.signature(tool, Wording::Checker);
    if !reaches && let Some(start) = signature.find('(') {
        signature.replace_range(..start, &path);
    }
    wire::ToolInfo {
        path,
        server: tool.server.to_string(),
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        signature,
        read_only: tool.read_only,
        destructive: tool.destructive,
        input_schema: schemas.then(|| tool.input_schema.clone()),
        output_schema: tool.output_schema.clone().filter(|_| schemas),
        observed_calls: observed.filter(|calls| *calls > 0 && tool.output_schema.is_none()),
    }
}

/// The `.d.ts` of everything, of some servers, or of single tools.
pub(super) async fn types(
    upstreams: &Upstreams,
    request: wire::TypesRequest,
) -> Result<String, Fault> {
    let catalog = upstreams.catalog();
    if request.paths.is_empty() {
        let known = known(sets(upstreams.all()).await);
        let types = catalog.types(&known, Wording::Reader).await;
        return Ok(types.text.to_string());
    }
    let (tools, servers): (Vec<_>, Vec<_>) = request
        .paths
        .into_iter()
        .partition(|path| path.contains('.'));
    let mut out = String::new();
    if !servers.is_empty() {
        let servers = servers
            .iter()
            .map(|name| upstreams.find(name))
            .collect::<Result<_, _>>()?;
        let sets = sets(servers).await;
        // Somebody asked for just these, so one that cannot be reached is an error.
        for (_, set) in &sets {
            if let Err(fault) = set {
                return Err(fault.clone());
            }
        }
        let types = catalog.types(&known(sets), Wording::Reader).await;
        out.push_str(&types.text);
    }
    for path in tools {
        let (server, name) = path.split_once('.').unwrap_or((&path, ""));
        let server = upstreams.find(server)?;
        let (_, set) = sets(vec![Arc::clone(&server)]).await.remove(0);
        let tool = gateway::find(&*set?, server.name(), name)?;
        out.push_str(&catalog.declaration(&tool));
    }
    Ok(out)
}

fn known(sets: Sets) -> Vec<Known> {
    sets.into_iter()
        .map(|(server, tools)| match tools {
            Ok(_) => server.known(),
            Err(fault) => Known {
                name: server.name().to_owned(),
                tools: None,
                note: Some(fault.message),
            },
        })
        .collect()
}

/// The declarations of everything once they are others than those of this name, or after a while.
pub(super) async fn watch_types(
    upstreams: &Upstreams,
    known: Option<&str>,
    wait: Duration,
) -> wire::TypesPage {
    let catalog = upstreams.catalog();
    let mut news = catalog.news();
    let until = Instant::now() + wait;
    loop {
        news.mark_unchanged();
        let types = catalog.types(&upstreams.known(), Wording::Checker).await;
        let name = blake3::Hash::from(types.hash).to_hex().to_string();
        if known != Some(name.as_str()) {
            let text = Some(types.text.to_string());
            return wire::TypesPage { name, text };
        }
        // An error means that the daemon is ending.
        if !matches!(timeout_at(until, news.changed()).await, Ok(Ok(()))) {
            return wire::TypesPage { name, text: None };
        }
    }
}

pub(super) fn forget_types(
    upstreams: &Upstreams,
    paths: &[String],
) -> Result<wire::Forgotten, Fault> {
    let catalog = upstreams.catalog();
    if paths.is_empty() {
        let tools = catalog.forget(None, None);
        return Ok(wire::Forgotten { tools });
    }
    let mut tools = 0;
    for path in paths {
        let (server, tool) = match path.split_once('.') {
            Some((server, tool)) => (server, Some(tool)),
            None => (path.as_str(), None),
        };
        let server = upstreams.find(server)?;
        // A tool that is gone may have been spelled as it was.
        let exact = tool.map(
            |name| match server.tools().and_then(|set| set.find(name).cloned()) {
                Some(tool) => tool.name.clone(),
                None => name.to_owned(),
            },
        );
        tools += catalog.forget(Some(server.name()), exact.as_deref());
    }
    Ok(wire::Forgotten { tools })
}
