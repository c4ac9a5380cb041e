//! What the daemon found wrong with the configuration, and servers that cannot be used.

use mux_proto::{AuthState, ServerState, SourceNote, Status};

use super::CheckGroup;
use crate::render::SECRET_IN_ARGS;

const SERVERS_GROUP: &str = "servers";

pub(super) fn check_servers(status: &Status) -> CheckGroup {
    let mut group = CheckGroup::new(SERVERS_GROUP);
    let config = status.config.display();
    for problem in status.all_problems() {
        // Its server is shown below.
        if problem.server.is_some() {
            continue;
        }
        let fix = problem_fix(&problem.code, &config.to_string());
        match problem.code == "cache" {
            // It only costs time.
            true => group.warn(problem.message, fix),
            false => group.fail(problem.message, fix),
        }
    }
    for server in &status.servers {
        let name = &server.name;
        let section = match server.source.is_some() {
            true => "sources",
            false => "servers",
        };
        let reason = server.reason.as_deref().unwrap_or("it did not say why");
        let reason = reason.trim();
        match server.state {
            _ if server.auth == Some(AuthState::Required) => group.note(
                format!("{name}: sign-in is required"),
                Some(&format!("`mux servers login {name}`")),
            ),
            ServerState::Broken => group.fail(
                format!("{name}: {reason}"),
                secret_fix(reason).unwrap_or_else(|| {
                    format!("change [{section}.{name}] in {config} and run `mux reload`")
                }),
            ),
            // The message of git and ssh if they find no key.
            ServerState::Failed | ServerState::BackingOff
                if reason.contains("Permission denied (publickey") =>
            {
                group.fail(
                    format!("{name}: {reason}"),
                    format!(
                        "servers get no SSH agent by default: write env = {{ SSH_AUTH_SOCK = \"${{SSH_AUTH_SOCK}}\" }} \
                         in [servers.{name}] in {config}"
                    ),
                );
            }
            ServerState::Failed | ServerState::BackingOff => group.fail(
                format!("{name}: {reason}"),
                format!("`mux servers logs {name}` shows its output, `mux servers restart {name}` tries again"),
            ),
            ServerState::Degraded => group.note(
                format!("{name}: {reason}"),
                Some(&format!("`mux servers logs {name}` shows more")),
            ),
            ServerState::Ready
            | ServerState::Cold
            | ServerState::Starting
            | ServerState::Disabled => {}
        }
        for warning in &server.warnings {
            let source = server.source.as_ref();
            // The notes are reported below, each with its fix.
            if source.is_some_and(|source| {
                source
                    .notes
                    .iter()
                    .any(|note| is_warning_of_note(note, warning))
            }) {
                continue;
            }
            let problem = source.and_then(|source| source.problem.as_ref());
            let fix = match (source, problem) {
                (_, Some(problem)) if warning.contains(problem.as_str()) => {
                    format!("`mux sources refresh {name}` tries again now")
                }
                _ => format!("`mux servers pins {name}` lists its tools"),
            };
            group.warn(format!("{name}: {warning}"), fix);
        }
        if server.secret_in_args {
            group.warn(
                format!("{name}: {SECRET_IN_ARGS}"),
                format!(
                    "write ${{NAME}} in its place in [servers.{name}], and the value into the file `env` beside \
                     {config}; or ${{keyring:NAME}}, and `mux secrets set NAME`"
                ),
            );
        }
        for SourceNote { text, fix } in server.source.iter().flat_map(|source| &source.notes) {
            let fix = fix.clone().unwrap_or_else(|| {
                format!(
                    "[sources.{name}] in {config} defines it; `mux sources refresh {name}` reads its description again"
                )
            });
            group.warn(format!("{name}: {text}"), fix);
        }
        let missing = server.source.iter().flat_map(|source| &source.missing);
        for scheme in missing {
            group.warn(
                format!("{name}: functions need a credential for `{scheme}`, and none is given"),
                format!("auth = {{ {scheme} = \"${{NAME}}\" }} in [sources.{name}] in {config}"),
            );
        }
    }
    if let Some(note) = status
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.note.as_ref())
    {
        group.note(
            format!(
                "tokens and secrets are kept in a file, since the keyring cannot be used: {note}"
            ),
            Some("keyring = \"never\" in [daemon] if this is intended"),
        );
    }
    let servers = status.servers.len();
    if servers == 0 && group.checks.is_empty() {
        group.note(
            "no server is configured",
            Some("`mux servers` shows how to begin"),
        );
    } else if group.checks.is_empty() {
        let ready = |state| status.servers.iter().filter(|s| s.state == state).count();
        group.ok(format!(
            "{servers} configured, {} of them ready, {} not started yet",
            ready(ServerState::Ready),
            ready(ServerState::Cold)
        ));
    }
    group
}

/// What to do about a problem of this code.
fn problem_fix(code: &str, config: &str) -> String {
    match code {
        "workers" => {
            "`mux-worker` must be in the directory of `muxd` and of the same build; `mux logs` shows more".into()
        }
        "cache" => "`mux restart` opens it again".into(),
        "audit" => "`mux logs` shows since when; lost lines are gone".into(),
        _ => format!("`mux logs` shows more; after a change of {config}, run `mux reload`"),
    }
}

/// Whether `warning` is the text of `note`, with or without its fix appended.
fn is_warning_of_note(note: &SourceNote, warning: &str) -> bool {
    let rest = warning.strip_prefix(note.text.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("; "))
}

/// The `mux secrets set` command in a reason that is about a secret: the entry itself is correct.
fn secret_fix(reason: &str) -> Option<String> {
    let from = reason.find("`mux secrets set ")?;
    let command = &reason[from..];
    let end = command[1..].find('`')? + 2;
    Some(command[..end].to_owned())
}
