//! `mux tools`, `mux servers`, `mux status`.

use std::{process::ExitCode, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{
    DescribeRequest, SearchRequest, ToolInfo, ToolList, ToolsRequest, TypesRequest, transport,
};

use super::{Failure, Outcome, dirs, login, logs, pins, running, servers, session};
use crate::{
    args::{self, ServersCommand},
    render,
};

/// The timeout of requests for which every server may have to be started.
pub(super) const STARTS: Duration = Duration::from_secs(300);

pub(super) async fn tools(args: args::Tools, json: bool) -> Outcome {
    let session = session().await?;
    let query = args.query.join(" ");
    let request = ToolsRequest {
        server: args.server.clone(),
        // With a query, this only starts all servers and reports which are missing.
        limit: if query.is_empty() {
            args.limit
        } else {
            Some(0)
        },
        schemas: args.schemas,
        for_apps: args.all,
        ..ToolsRequest::default()
    };
    let waiting = render::Waiting::begin("asking the servers for their tools", json);
    let answer = session
        .client
        .tools(transport::within(STARTS), request)
        .await;
    waiting.end();
    let mut list = answer?.map_err(Failure::from)?;
    if query.is_empty() {
        return Ok(render::tools(&list, json));
    }
    let words = args.query.clone();
    let next = found(&session, &mut list, query, args).await?;
    if !json && let Some(tool) = list.tools.iter().find(|tool| is_meant(tool, &words)) {
        let request = TypesRequest {
            paths: vec![tool.path.clone()],
        };
        let types = session.client.types(transport::within(STARTS), request);
        return Ok(render::tool(tool, &types.await?.map_err(Failure::from)?));
    }
    Ok(render::found(&list, next.as_deref(), json))
}

/// Puts the matching tools into the list, the best first. Returns the cursor of the next page.
async fn found(
    session: &Session,
    list: &mut ToolList,
    query: String,
    args: args::Tools,
) -> Result<Option<String>, Failure> {
    let request = SearchRequest {
        query,
        server: args.server,
        limit: args.limit,
        cursor: args.cursor,
        wait_ms: 0,
    };
    let page = session
        .client
        .search(transport::within(STARTS), request)
        .await?
        .map_err(Failure::from)?;
    list.total = page.total;
    let request = DescribeRequest {
        paths: page
            .results
            .iter()
            .map(|hit| format!("{}.{}", hit.server, hit.name))
            .collect(),
        schemas: args.schemas,
        ..DescribeRequest::default()
    };
    if !request.paths.is_empty() {
        let described = session
            .client
            .describe(transport::within(STARTS), request)
            .await?
            .map_err(Failure::from)?;
        list.tools = described
            .tools
            .into_iter()
            .map(|found| found.tool)
            .collect();
    }
    Ok(page.next)
}

/// Whether the query is the full name of this tool.
fn is_meant(tool: &ToolInfo, query: &[String]) -> bool {
    let [name] = query else { return false };
    *name == tool.path || *name == format!("{}.{}", tool.server, tool.name)
}

pub(super) async fn servers(args: args::Servers, json: bool) -> Outcome {
    match args.command {
        None | Some(ServersCommand::List) => {
            let session = session().await?;
            let servers = session
                .client
                .servers(within_seconds(10))
                .await?
                .map_err(Failure::from)?;
            // A file that was refused explains why a server is missing.
            let status = session.client.status(within_seconds(10)).await?;
            let problems = status
                .map(|status| status.all_problems())
                .unwrap_or_default();
            let config = dirs()?.config_file();
            Ok(render::servers(&servers, &problems, &config, json))
        }
        Some(ServersCommand::Restart { server }) => {
            let session = session().await?;
            let waiting = render::Waiting::begin(&format!("restarting {server}"), json);
            let answer = session
                .client
                .restart_server(transport::within(STARTS), server)
                .await;
            waiting.end();
            let info = answer?.map_err(Failure::from)?;
            Ok(render::restarted(&info, json))
        }
        Some(ServersCommand::Add(args)) => servers::add(&args, json).await,
        Some(ServersCommand::Remove(args)) => servers::remove(&args, json).await,
        Some(ServersCommand::Enable(args)) => servers::enable(&args, json).await,
        Some(ServersCommand::Disable(args)) => servers::disable(&args, json).await,
        Some(ServersCommand::Pins(args)) => pins::list(args, json).await,
        Some(ServersCommand::Accept(args)) => pins::accept(args, json).await,
        Some(ServersCommand::Login(args)) => login::login(args, json).await,
        Some(ServersCommand::Logout { server }) => login::logout(server, json).await,
        Some(ServersCommand::Logs { server, lines }) => logs::server(&server, &lines, json).await,
    }
}

pub(super) async fn status(args: &args::Status, json: bool) -> Outcome {
    match running().await? {
        Some(session) => {
            let status = session
                .client
                .status(within_seconds(10))
                .await?
                .map_err(Failure::from)?;
            Ok(render::status(&status, args.all, json))
        }
        None => {
            render::not_running(&dirs()?.socket(), json);
            Ok(ExitCode::from(3))
        }
    }
}
