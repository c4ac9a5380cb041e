//! `mux tools`, `mux servers`, `mux status`.

use std::{process::ExitCode, time::Duration};

use mux_client::within_seconds;
use mux_proto::{ToolInfo, ToolsRequest, TypesRequest, transport};

use super::{Failure, Outcome, dirs, logs, running, session};
use crate::{
    args::{self, ServersCommand},
    render,
};

/// Every server may have to be started for an answer.
pub(super) const STARTS: Duration = Duration::from_secs(300);

pub(super) async fn tools(args: args::Tools, json: bool) -> Outcome {
    let query = args.query.join(" ");
    let request = ToolsRequest {
        query: (!query.is_empty()).then_some(query),
        server: args.server,
        limit: args.limit,
        schemas: args.schemas,
    };
    let session = session().await?;
    let waiting = render::Waiting::begin("asking the servers for their tools", json);
    let answer = session
        .client
        .tools(transport::within(STARTS), request)
        .await;
    waiting.end();
    let list = answer?.map_err(Failure::from)?;
    if !json && let Some(tool) = list.tools.iter().find(|tool| is_meant(tool, &args.query)) {
        let request = TypesRequest {
            paths: vec![tool.path.clone()],
        };
        let types = session.client.types(transport::within(STARTS), request);
        return Ok(render::tool(tool, &types.await?.map_err(Failure::from)?));
    }
    Ok(render::tools(&list, json))
}

/// Whether somebody asked for just this one, by a whole name.
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
            // A file that was refused is why a server is missing.
            let status = session.client.status(within_seconds(10)).await?;
            let problems = status.map(|status| status.problems).unwrap_or_default();
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
        Some(ServersCommand::Logs { server, logs: args }) => {
            logs::server(&server, &args, json).await
        }
    }
}

pub(super) async fn status(json: bool) -> Outcome {
    match running().await? {
        Some(session) => {
            let status = session
                .client
                .status(within_seconds(10))
                .await?
                .map_err(Failure::from)?;
            Ok(render::status(&status, json))
        }
        None => {
            render::not_running(&dirs()?.socket(), json);
            Ok(ExitCode::from(3))
        }
    }
}
