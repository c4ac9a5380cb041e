//! Tools and types as clients see them, over all servers at once.

use std::sync::Arc;

use futures::future::join_all;
use mux_proto as wire;
use mux_sandbox::{
    Fault,
    typegen::{self, ServerDecl, names::spell},
};

use super::convert;
use crate::{
    catalog::{Tool, ToolSet},
    upstream::{Server, Upstreams},
};

/// The tools of every server that can be reached; servers are started at the same time.
type Sets = Vec<(Arc<Server>, Result<Arc<ToolSet>, Fault>)>;

async fn sets(servers: Vec<Arc<Server>>) -> Sets {
    join_all(servers.into_iter().map(|server| async move {
        let tools = server.session().await.map(|session| session.tools());
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
    };
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
        list.warnings.extend(tools.warnings.iter().cloned());
        for tool in tools.iter().filter(|tool| matches(tool, &words)) {
            list.total += 1;
            if request.limit.is_none_or(|limit| list.tools.len() < limit) {
                list.tools.push(info(&tools, tool, request.schemas));
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

fn info(tools: &ToolSet, tool: &Tool, schemas: bool) -> wire::ToolInfo {
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
    let mut signature = tool.signature();
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
    }
}

/// The `.d.ts` of everything, of some servers, or of single tools.
pub(super) async fn types(
    upstreams: &Upstreams,
    request: wire::TypesRequest,
) -> Result<String, Fault> {
    if request.paths.is_empty() {
        let sets = sets(upstreams.all()).await;
        return Ok(typegen::declarations(&declarations(&sets)));
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
        out.push_str(&typegen::declarations(&declarations(&sets)));
    }
    for path in tools {
        let (server, name) = path.split_once('.').unwrap_or((&path, ""));
        let server = upstreams.find(server)?;
        let session = server.session().await?;
        let tool = crate::gateway::find(&session, &server, name)?;
        out.push_str(&typegen::tool_declaration(
            server.name(),
            &tool.declaration(),
        ));
    }
    Ok(out)
}

fn declarations(sets: &Sets) -> Vec<ServerDecl<'_>> {
    sets.iter()
        .map(|(server, tools)| match tools {
            Ok(tools) => tools.declaration(server.name()),
            Err(fault) => ServerDecl {
                name: server.name(),
                tools: Vec::new(),
                note: Some(&fault.message),
            },
        })
        .collect()
}
