//! `mux tools`, `mux types`, `mux servers`, `mux status`.

use std::{process::ExitCode, time::Duration};

use mux_client::within_seconds;
use mux_proto::{ToolsRequest, TypesRequest, transport};

use super::{Failure, Outcome, dirs, logs, running, session};
use crate::{
    args::{self, ServersCommand},
    render,
};

/// Every server may have to be started for an answer.
const STARTS: Duration = Duration::from_secs(300);

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
    Ok(render::tools(&list, json))
}

pub(super) async fn types(args: args::Types, json: bool) -> Outcome {
    let session = session().await?;
    let waiting = render::Waiting::begin("asking the servers for their tools", json);
    let request = TypesRequest { paths: args.paths };
    let answer = session
        .client
        .types(transport::within(STARTS), request)
        .await;
    waiting.end();
    let types = answer?.map_err(Failure::from)?;
    Ok(render::types(&types, json))
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
