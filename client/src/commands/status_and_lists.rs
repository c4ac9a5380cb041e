//! `mux tools`, `mux servers`, `mux status`.

use std::process::ExitCode;

use clap::CommandFactory as _;
use mux_client::{Session, within_seconds};
use mux_proto::{
    DescribeRequest, Error, Kind, SearchRequest, ToolInfo, ToolList, ToolsRequest, TypesRequest,
};
use mux_typegen::names::spell;

use super::{
    CommandFailure, CommandResult, connect_if_running, connect_or_start, login, logs, pins,
    resolve_dirs, server_sandbox,
    servers::{self, SERVERS_SECTION},
    tool_override, within_server_start,
};
use crate::{
    args::{self, ServersCommand, ToolsCommand},
    completion, render,
};

pub(super) async fn tools(args: args::ToolsArgs, json: bool) -> CommandResult {
    if let Some(ToolsCommand::Override(args)) = &args.command {
        return tool_override::override_tool(args, json).await;
    }
    let session = connect_or_start().await?;
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
    let answer = session.client.tools(within_server_start(), request);
    let what = "asking the servers for their tools";
    let mut list = render::with_spinner(what, json, answer).await??;
    if query.is_empty() {
        completion::remember_list(&resolve_dirs()?, &list, args.server.as_deref());
        let is_empty = list.total == 0 && list.missing.is_empty() && !json;
        let no_servers = is_empty && server_names(&session).await?.is_empty();
        return Ok(render::show(&list, json, |list| {
            render::tools(list, no_servers);
        }));
    }
    let words = args.query.clone();
    let asked = args.server.clone();
    let is_name = asked.is_none() && args.cursor.is_none();
    let next = search_tools(&session, &mut list, query, args).await?;
    completion::remember_found(&resolve_dirs()?, &list.tools);
    if let [word] = words.as_slice()
        && is_name
        && let Some(error) = unknown_name(&session, word, &list).await?
    {
        return Err(error.into());
    }
    if !json && let Some(tool) = list.tools.iter().find(|tool| is_full_name(tool, &words)) {
        let request = TypesRequest {
            paths: vec![tool.path.clone()],
        };
        let types = session.client.types(within_server_start(), request);
        return Ok(render::tool(tool, &types.await??));
    }
    let next = next.as_deref();
    let asked = asked.as_deref();
    Ok(render::search_results(&list, next, asked, json))
}

/// Puts the matching tools into the list, the best first. Returns the cursor of the next page.
async fn search_tools(
    session: &Session,
    list: &mut ToolList,
    query: String,
    args: args::ToolsArgs,
) -> Result<Option<String>, CommandFailure> {
    let request = SearchRequest {
        query,
        server: args.server,
        limit: args.limit,
        cursor: args.cursor,
        ..SearchRequest::default()
    };
    let page = session.client.search(within_server_start(), request);
    let page = page.await??;
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
        let described = session.client.describe(within_server_start(), request);
        let described = described.await??.tools.into_iter();
        list.tools = described.map(|found| found.tool).collect();
    }
    Ok(page.next)
}

/// Lists the servers, or the one of this name.
async fn list_servers(name: Option<&str>, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    let mut servers = session.client.servers(within_seconds(10)).await??;
    // A file that was refused explains why a server is missing.
    let status = session.client.status(within_seconds(10)).await?;
    let problems = status.map(|status| status.problems);
    let problems = problems.unwrap_or_default();
    if let Some(name) = name {
        servers.retain(|server| server.name == name);
        if servers.is_empty() {
            let message = format!("there is no server `{name}`");
            let hint = match similar_servers_command(name) {
                Some(command) => format!("did you mean `mux servers {command}`?"),
                None => "`mux servers` lists them, `mux servers --help` the commands".into(),
            };
            return Err(Error {
                hint: Some(hint),
                ..Error::new(Kind::NotFound, message)
            }
            .into());
        }
    }
    let config = resolve_dirs()?.config_file();
    Ok(render::show(&servers[..], json, |servers| {
        render::servers(servers, &problems, &config);
    }))
}

/// The subcommand of `mux servers` whose letters are most similar to the word.
fn similar_servers_command(word: &str) -> Option<String> {
    const MIN_SIMILARITY: f64 = 0.8;
    let root = args::MuxCli::command();
    let commands = root.find_subcommand("servers")?.get_subcommands();
    let similarities = commands.map(|command| {
        let name = command.get_name();
        (strsim::jaro(name, word), name)
    });
    let (similarity, name) = similarities.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (similarity > MIN_SIMILARITY).then(|| name.to_owned())
}

/// The error for a word that is a path without a tool, or that matches no name.
async fn unknown_name(
    session: &Session,
    word: &str,
    found: &ToolList,
) -> Result<Option<Error>, CommandFailure> {
    let is_path = match word.split_once('.') {
        Some((head, _)) => {
            let names = server_names(session).await?;
            names.iter().any(|name| spell(name) == spell(head))
        }
        None => false,
    };
    if !is_path && found.total > 0 {
        return Ok(None);
    }
    if let Some(missing) = found.missing.iter().find(|missing| missing.server == word) {
        return Ok(Some(missing.error.clone()));
    }
    let request = DescribeRequest {
        paths: vec![word.to_owned()],
        ..DescribeRequest::default()
    };
    let described = session.client.describe(within_server_start(), request);
    let error = described.await??.missing.into_iter().next();
    Ok(error.map(|mut error| {
        if error.kind == Kind::NotFound && !word.contains('.') {
            error.message = format!("there is no server or tool `{word}`");
        }
        error
    }))
}

async fn server_names(session: &Session) -> Result<Vec<String>, CommandFailure> {
    let servers = session.client.servers(within_seconds(10)).await??;
    Ok(servers.into_iter().map(|server| server.name).collect())
}

/// Returns true if the query is the full name of this tool.
fn is_full_name(tool: &ToolInfo, query: &[String]) -> bool {
    let [name] = query else { return false };
    *name == tool.path || *name == format!("{}.{}", tool.server, tool.name)
}

pub(super) async fn servers(args: args::ServersArgs, json: bool) -> CommandResult {
    match args.command {
        None => list_servers(None, json).await,
        Some(ServersCommand::List { server }) => list_servers(server.as_deref(), json).await,
        Some(ServersCommand::Restart { server }) => {
            let session = connect_or_start().await?;
            let what = format!("restarting {server}");
            let answer = session.client.restart_server(within_server_start(), server);
            let info = render::with_spinner(&what, json, answer).await??;
            Ok(render::show(&info, json, render::restarted))
        }
        Some(ServersCommand::Add(args)) => servers::add_server(&args, json).await,
        Some(ServersCommand::Remove(args)) => {
            servers::remove_entry(SERVERS_SECTION, &args, json).await
        }
        Some(ServersCommand::Enable(args)) => servers::switch_server(&args, true, json).await,
        Some(ServersCommand::Disable(args)) => servers::switch_server(&args, false, json).await,
        Some(ServersCommand::Pins(args)) => pins::list_pins(args, json).await,
        Some(ServersCommand::Accept(args)) => pins::accept_pins(args, json).await,
        Some(ServersCommand::Login(args)) => login::login(args, json).await,
        Some(ServersCommand::Logout { server }) => login::logout(server, json).await,
        Some(ServersCommand::Sandbox(args)) => server_sandbox::sandbox(args, json).await,
        Some(ServersCommand::Logs { server, lines }) => {
            logs::server_logs(&server, &lines, json).await
        }
    }
}

pub(super) async fn status(args: &args::StatusArgs, json: bool) -> CommandResult {
    if let Some(session) = connect_if_running().await? {
        let status = session.client.status(within_seconds(10)).await??;
        Ok(render::status(&status, args.all, json))
    } else {
        render::not_running(&resolve_dirs()?.socket(), json);
        Ok(ExitCode::from(3))
    }
}
