//! The errors for callers that get no session.
//!
//! Invariant: each error names the cause and a remedy.

use std::time::Duration;

use mux_sandbox::resource_remedies;
use mux_wire::{Fault, FaultKind};
use tokio::time::Instant;

use super::{
    circuit_breaker::{FAILURE_THRESHOLD, FAILURE_WINDOW},
    server_shared::ServerShared,
};
use crate::link::{OpenError, without_output};
use mux_settings::ServerEndpoint;

/// The session cannot be started. `link` is the endpoint of this session.
pub(super) fn start_failed_fault(
    server_shared: &ServerShared,
    link: &ServerEndpoint,
    error: &OpenError,
) -> Fault {
    let name = &server_shared.name;
    let message = format!("the server `{name}` cannot be started: {error}");
    let fault = |kind| Fault::new(kind, message);
    if let ServerEndpoint::Process(process) = link
        && error.is_missing_program()
        && let Some(corrected) = process.corrected_command()
    {
        return fault(FaultKind::Unavailable).user_hint(format!(
            "`command` is the program alone; write {corrected} in [servers.{name}]"
        ));
    }
    match (error, link) {
        (OpenError::SignIn(challenge), _) => {
            fault(FaultKind::AuthRequired).user_hint(challenge.fix(name))
        }
        (OpenError::NotInPath { program, searched }, _) => Fault {
            details: serde_json::to_string(&serde_json::json!({
                "server": name,
                "program": program,
                "searched": searched,
            }))
            .ok(),
            ..fault(FaultKind::Unavailable).user_hint(format!(
                "install it, or write its full path as `command` in [servers.{name}]"
            ))
        },
        (OpenError::TooSlow(_), _) => {
            fault(FaultKind::Unavailable).user_hint(more_time_hint(server_shared, link))
        }
        (OpenError::NoProgramFile(_), ServerEndpoint::Process(_)) => fault(FaultKind::Unavailable)
            .user_hint(format!(
                "install the program, or correct its path in `command` in [servers.{name}]"
            )),
        (OpenError::Failed(_) | OpenError::NoProgramFile(_), ServerEndpoint::Remote(remote)) => {
            let address = remote.redacted_url();
            fault(FaultKind::Unavailable).hint(format!("its address: {address}"))
        }
        (OpenError::Failed(_) | OpenError::NoProgramFile(_), ServerEndpoint::Source(source)) => {
            let description = source.shown();
            fault(FaultKind::Unavailable).hint(format!("its description: {description}"))
        }
        (OpenError::Failed(why), ServerEndpoint::Process(_)) => {
            let usual = || {
                let log = server_shared
                    .existing_log()
                    .map(|log| format!("its log: {log}; "));
                format!("{}its command: {}", log.unwrap_or_default(), link.shown())
            };
            // A server's statement about its own resources, perhaps in a sandbox, is not an error of muxd.
            let remedy = resource_remedies::remedy_in(without_output(why));
            let hint = remedy.map_or_else(usual, str::to_owned);
            fault(FaultKind::Unavailable).hint(hint)
        }
    }
}

/// The last start failed, and the caller does not wait for the next.
pub(super) fn failed_earlier_fault(name: &str, reason: &str) -> Fault {
    let message = format!("the server `{name}` cannot be used: {reason}");
    Fault::new(FaultKind::Unavailable, message).hints(
        format!("`mux servers {name}` shows more, and `mux servers restart {name}` starts it now"),
        "it is being started again; try again later",
    )
}

/// A hint that tells the user how to give a server more time to start.
fn more_time_hint(server_shared: &ServerShared, link: &ServerEndpoint) -> String {
    const USUAL_INSTALLATION: Duration = Duration::from_mins(5);
    let longer = USUAL_INSTALLATION.max(server_shared.definition.start_timeout * 2);
    let section = match link {
        ServerEndpoint::Source(_) => "sources",
        ServerEndpoint::Process(_) | ServerEndpoint::Remote(_) => "servers",
    };
    let more_time = format!(
        "start_timeout = \"{}s\" in [{section}.{}] allows more time",
        longer.as_secs(),
        server_shared.name
    );
    match link {
        ServerEndpoint::Process(_) => format!(
            "{more_time}; if it was installing, as npx and uvx do at a first start, the next call continues with the \
             files downloaded so far{}",
            match server_shared.existing_log() {
                Some(log) => format!("; its log: {log}"),
                None => String::new(),
            }
        ),
        ServerEndpoint::Remote(remote) => {
            format!("{more_time}; its address: {}", remote.redacted_url())
        }
        ServerEndpoint::Source(_) => more_time,
    }
}

/// The circuit breaker is open.
pub(super) fn breaker_open_fault(
    server_shared: &ServerShared,
    until: Instant,
    cause: &str,
) -> Fault {
    let name = &server_shared.name;
    let message = format!(
        "the server `{name}` {}; {}. The last time: {cause}",
        breaker_open_text(),
        next_try(until.saturating_duration_since(Instant::now()))
    );
    let log = server_shared
        .existing_log()
        .map(|log| format!("; its log: {log}"));
    Fault::new(FaultKind::Unavailable, message).user_hint(format!(
        "`mux servers restart {name}` tries it now{}",
        log.unwrap_or_default()
    ))
}

pub(super) fn breaker_open_text() -> String {
    format!("failed {FAILURE_THRESHOLD} times within {FAILURE_WINDOW:?} and is not retried for now")
}

fn next_try(remaining: Duration) -> String {
    if remaining.is_zero() {
        "retrying now".into()
    } else {
        format!("retrying in {:.1} s", remaining.as_secs_f64())
    }
}

/// The server's definition is invalid.
pub(super) fn broken_definition_fault(server: &str, problem: &str) -> Fault {
    let message = format!("the server `{server}` cannot be used: {problem}");
    Fault::new(FaultKind::Unavailable, message)
        .user_hint("correct it; a saved change takes effect immediately, or run `mux reload`")
}

/// The entry uses `${workspace}`, and the caller has no workspace.
pub(super) fn missing_workspace_fault(server: &str) -> Fault {
    let message = format!(
        "the server `{server}` works in a workspace (its entry uses ${{workspace}}), and this client has none"
    );
    Fault::new(FaultKind::Unavailable, message).hints(
        "run it inside a project, or pass --workspace",
        "for the user: start the agent inside a project, or name one in `mux mcp --workspace DIR`",
    )
}

/// All slots of the server are in use.
pub(super) fn slots_full_fault(server_shared: &ServerShared, limit: usize) -> Fault {
    let message = format!(
        "{limit} sessions of the server `{}` are in use, one for each {}, and there is no room for another",
        server_shared.name,
        server_shared.sharing.current_sharing().share
    );
    Fault::new(FaultKind::Busy, message).hints(
        "try again when one of them has ended; `mux servers` shows them",
        "try again when one of them has ended",
    )
}

/// The error for a slot whose task has ended with its server.
pub(super) fn server_retired_fault(server: &str) -> Fault {
    let message = format!("the server `{server}` was removed or changed");
    Fault::new(FaultKind::Unavailable, message).hint("try again")
}
