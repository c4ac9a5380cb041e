//! The last step of `mux init`: connects to all servers, asks for the values that only the user has, and reports the
//! needs of each server.

use mux_client::{Session, within_seconds};
use mux_proto::{
    SecretText, ServerInfo, ServerState, SetSecretRequest, ToolsRequest, endpoint::Dirs,
};

use super::super::{
    CommandFailure,
    config_edit::ConfigFiles,
    connect_or_start, hidden_input,
    import::reload_if_running,
    server_problem::{ServerNeed, ServerProblem, find_problem},
    within_server_start,
};
use super::init_record::InitRecord;
use crate::render::{self, InitServer, InitServerState};

/// The maximum number of values that are requested, for all servers together.
const MAX_ASKED_VALUES: usize = 32;

/// The state of each server, servers with a need first. `asks` is true if the user is at the terminal.
pub(super) async fn check_servers(
    dirs: &Dirs,
    asks: bool,
    json: bool,
) -> Result<Vec<InitServer>, CommandFailure> {
    if asks {
        ask_for_values(dirs).await?;
    }
    let servers = connect_all(json).await?;
    let mut checked: Vec<InitServer> = servers
        .iter()
        .map(|server| describe(server, dirs))
        .collect();
    checked.sort_by_key(|server| (server.state.is_working(), server.name.clone()));
    Ok(checked)
}

/// Asks for one value after the other. Which value a server lacks is known without connecting to it.
async fn ask_for_values(dirs: &Dirs) -> Result<(), CommandFailure> {
    let session = connect_or_start().await?;
    let mut skipped = Vec::new();
    for _ in 0..MAX_ASKED_VALUES {
        let servers = session.client.servers(within_seconds(10)).await??;
        let Some((need, name)) = wanted_value(&servers, &skipped, dirs) else {
            break;
        };
        if !ask_for_value(&session, &need, &name, dirs).await? {
            skipped.push(need);
        }
    }
    Ok(())
}

async fn connect_all(json: bool) -> Result<Vec<ServerInfo>, CommandFailure> {
    let session = connect_or_start().await?;
    let request = ToolsRequest {
        // The tools themselves are not needed.
        limit: Some(0),
        ..ToolsRequest::default()
    };
    let answer = session.client.tools(within_server_start(), request);
    render::with_spinner("connecting to all servers", json, answer).await??;
    Ok(session.client.servers(within_seconds(10)).await??)
}

/// The first value that a server needs, with the server's name.
fn wanted_value(
    servers: &[ServerInfo],
    skipped: &[ServerNeed],
    dirs: &Dirs,
) -> Option<(ServerNeed, String)> {
    let mut needs = servers.iter().filter_map(|server| {
        let problem = find_problem(server, &dirs.config_file(), dirs)?;
        let is_value = matches!(
            problem.need,
            ServerNeed::Variable(_) | ServerNeed::Secret(_)
        );
        (is_value && !skipped.contains(&problem.need)).then(|| (problem.need, server.name.clone()))
    });
    needs.next()
}

/// Asks for a value and stores it. Returns false if the user gives none.
async fn ask_for_value(
    session: &Session,
    need: &ServerNeed,
    server: &str,
    dirs: &Dirs,
) -> Result<bool, CommandFailure> {
    let (ServerNeed::Variable(name) | ServerNeed::Secret(name)) = need else {
        return Ok(false);
    };
    render::value_needed(server, name);
    let shown = name.clone();
    let typed = tokio::task::spawn_blocking(move || hidden_input::read_hidden_line(&shown)).await;
    let value = match typed {
        Ok(Ok(value)) if !value.is_empty() => value,
        _ => return Ok(false),
    };
    if let ServerNeed::Secret(_) = need {
        let request = SetSecretRequest {
            name: name.clone(),
            value: SecretText(value),
        };
        let stored = session.client.set_secret(within_seconds(60), request);
        stored.await??;
    } else {
        ConfigFiles::store_variable(name, &value)?;
        InitRecord::add_variable(name, dirs)?;
    }
    reload_if_running().await?;
    Ok(true)
}

fn describe(server: &ServerInfo, dirs: &Dirs) -> InitServer {
    let problem = find_problem(server, &dirs.config_file(), dirs);
    let state = match (&problem, server.state) {
        (Some(problem), _) => match &problem.need {
            ServerNeed::Login => InitServerState::NeedsLogin,
            ServerNeed::Variable(_) | ServerNeed::Secret(_) => InitServerState::NeedsValue,
            ServerNeed::Program => InitServerState::ProgramNotFound,
            ServerNeed::Entry => InitServerState::EntryUnusable,
            ServerNeed::Answer => InitServerState::NoAnswer,
            ServerNeed::Attention => InitServerState::Ready,
        },
        (None, ServerState::Disabled) => InitServerState::Disabled,
        (None, ServerState::Starting) => InitServerState::NoAnswer,
        (None, _) => InitServerState::Ready,
    };
    let (reason, mut next) = match problem {
        Some(ServerProblem { reason, fix, .. }) => (Some(reason), fix),
        None => (None, None),
    };
    if state == InitServerState::Disabled {
        next = Some(format!("`mux servers enable {}`", server.name));
    }
    InitServer {
        name: server.name.clone(),
        state,
        tools: server.tools,
        reason,
        next,
    }
}
