//! The problem that keeps a server from working, and the fix: for `mux doctor` and `mux init`.

use std::path::Path;

use mux_proto::{AuthState, ServerCause, ServerInfo, ServerState, endpoint::Dirs};

use super::doctor::read_configured_processes;
use crate::found_program::{self, find_in_path};

/// The step that a server needs before it works.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ServerNeed {
    Login,
    /// A variable of the file `env`.
    Variable(String),
    /// A secret of `mux secrets`.
    Secret(String),
    /// A program that exists.
    Program,
    /// Another entry in config.toml.
    Entry,
    /// An answer: it does not start, or does not reply.
    Answer,
    /// No step: the server works with a problem.
    Attention,
}

#[derive(Clone, Debug)]
pub(super) struct ServerProblem {
    pub(super) need: ServerNeed,
    pub(super) reason: String,
    pub(super) fix: Option<String>,
}

/// The section of config.toml that defines the server.
fn config_section(server: &ServerInfo) -> &'static str {
    if server.source.is_some() {
        "sources"
    } else {
        "servers"
    }
}

/// `None` if the server works, is disabled, or was not started.
///
/// `config` is the file that the daemon has read.
pub(super) fn find_problem(
    server: &ServerInfo,
    config: &Path,
    dirs: &Dirs,
) -> Option<ServerProblem> {
    let name = &server.name;
    let section = config_section(server);
    let env = config.with_file_name("env");
    let config = config.display();
    let reason = server.reason.as_deref().unwrap_or("it did not say why");
    let reason = reason.trim();
    let problem = |need, fix: String| {
        Some(ServerProblem {
            need,
            reason: reason.to_owned(),
            fix: Some(fix),
        })
    };
    match server.state {
        _ if server.auth == Some(AuthState::Required) => Some(ServerProblem {
            need: ServerNeed::Login,
            reason: "sign-in is required".into(),
            fix: Some(format!("`mux servers login {name}`")),
        }),
        ServerState::Broken => match &server.cause {
            Some(ServerCause::UnsetSecret { name }) => problem(
                ServerNeed::Secret(name.clone()),
                format!("`mux secrets set {name}`"),
            ),
            Some(ServerCause::UnreadableSecret { name }) => problem(
                ServerNeed::Secret(name.clone()),
                format!(
                    "run `mux reload` once it can be read, or set it again with `mux secrets set {name}`"
                ),
            ),
            Some(ServerCause::UnsetVariable { name }) => problem(
                ServerNeed::Variable(name.clone()),
                format!("write {name}=… into {}", env.display()),
            ),
            _ => problem(
                ServerNeed::Entry,
                format!("change [{section}.{name}] in {config} and run `mux reload`"),
            ),
        },
        ServerState::Failed | ServerState::BackingOff
            if server.cause == Some(ServerCause::MissingProgram) =>
        {
            let mut entries = read_configured_processes(dirs).into_iter();
            let entry = entries.find(|entry| entry.name == *name);
            let fix = match entry.and_then(|entry| find_in_path(&entry.command)) {
                Some(found) => found_program::fix(&found, name),
                None => format!(
                    "install it, or write its full path as `command` in [{section}.{name}] in {config}"
                ),
            };
            problem(ServerNeed::Program, fix)
        }
        // The message of ssh if it finds no key. The daemon only has the output of the server's program.
        ServerState::Failed | ServerState::BackingOff
            if reason.contains("Permission denied (publickey") =>
        {
            problem(
                ServerNeed::Entry,
                format!(
                    "servers get no SSH agent by default: write env = {{ SSH_AUTH_SOCK = \"${{SSH_AUTH_SOCK}}\" }} \
                     in [servers.{name}] in {config}"
                ),
            )
        }
        ServerState::Failed | ServerState::BackingOff => {
            let mut fix = format!("`mux servers restart {name}` tries again");
            if server.has_log {
                fix = format!("`mux servers logs {name}` shows its output, {fix}");
            }
            if reason.contains("(start_timeout)") {
                fix = format!(
                    "{fix}; a longer `start_timeout` in [{section}.{name}] in {config} allows more time"
                );
            }
            problem(ServerNeed::Answer, fix)
        }
        ServerState::Degraded => Some(ServerProblem {
            need: ServerNeed::Attention,
            reason: reason.to_owned(),
            fix: server
                .has_log
                .then(|| format!("`mux servers logs {name}` shows more")),
        }),
        ServerState::Ready | ServerState::Cold | ServerState::Starting | ServerState::Disabled => {
            None
        }
    }
}
