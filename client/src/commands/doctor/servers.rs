//! Problems that the daemon found in the configuration, and servers that cannot be used.

use mux_proto::{SandboxState, ServerState, ServerWarning, Status, endpoint::Dirs};

use super::{
    super::server_problem::{ServerNeed, ServerProblem, find_problem},
    CheckGroup,
};
use crate::render::user_of;

/// `dirs` has the configuration, with the programs of servers that muxd does not find.
pub(super) fn check_servers(group: &mut CheckGroup, status: &Status, dirs: &Dirs) {
    for problem in &status.problems {
        // The server is shown below.
        if problem.server.is_some() {
            continue;
        }
        if problem.code == "cache" {
            group.warn(&problem.message, &problem.fix);
        } else {
            group.fail(&problem.message, &problem.fix);
        }
    }
    for server in &status.servers {
        let name = &server.name;
        let before = group.checks.len();
        if let Some(ServerProblem { need, reason, fix }) =
            find_problem(server, &status.config, dirs)
        {
            let message = format!("{name}: {reason}");
            match need {
                ServerNeed::Login | ServerNeed::Attention => group.note(message, fix.as_deref()),
                _ => group.fail(message, fix.unwrap_or_default()),
            }
        }
        for check in &mut group.checks[before..] {
            check.detail.clone_from(&server.detail);
        }
        for ServerWarning { text, fix } in &server.warnings {
            let Some(fix) = fix else {
                group.note(format!("{name}: {text}"), None);
                continue;
            };
            // The remarks on a source end with their fix.
            let remark = text.strip_suffix(fix.as_str());
            let remark = remark.and_then(|remark| remark.strip_suffix("; "));
            group.warn(format!("{name}: {}", remark.unwrap_or(text)), fix);
        }
    }
    if let Some(note) = status
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.note.as_ref())
    {
        group.note(
            format!(
                "tokens and secrets are kept in a file, because the keyring cannot be used: {note}"
            ),
            Some("if this is intended, set keyring = \"never\" in [daemon]"),
        );
    }
    let servers = status.servers.len();
    if servers == 0 && group.checks.is_empty() {
        group.note(
            "no server is configured",
            Some("`mux servers` shows how to start"),
        );
    } else if group.checks.is_empty() {
        let ready = |state| status.servers.iter().filter(|s| s.state == state).count();
        group.ok(format!(
            "{servers} configured, {} ready, {} not started yet",
            ready(ServerState::Ready),
            ready(ServerState::Cold)
        ));
    }
    note_bare_servers(status, group);
    // Last: a known user is not a problem, and the summary above counts problems.
    for server in &status.servers {
        if let Some(user) = user_of(server) {
            group.ok(format!("{}: used as {user}", server.name));
        }
    }
}

/// Servers without a sandbox.
fn note_bare_servers(status: &Status, group: &mut CheckGroup) {
    let config = status.config.display();
    let bare: Vec<&str> = status
        .servers
        .iter()
        .filter(|server| {
            let sandbox = server.sandbox.as_ref();
            sandbox.is_some_and(|sandbox| sandbox.state == SandboxState::Bare)
        })
        .map(|server| server.name.as_str())
        .collect();
    if !bare.is_empty() {
        let fix = if cfg!(windows) {
            format!(
                "muxd has no sandbox for servers on Windows; sandbox = false in its section in {config} accepts that"
            )
        } else {
            format!(
                "write sandbox = {{ read = [\"…\"], network = \"none\" }} in its section in {config}, or sandbox = false"
            )
        };
        group.note(
            format!(
                "{} without a sandbox, with all your rights: {}",
                match bare.len() {
                    1 => "one server runs".to_owned(),
                    count => format!("{count} servers run"),
                },
                bare.join(", ")
            ),
            Some(&fix),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::render::{CheckVerdict, DoctorCheck};

    /// The check of a server with these fields, in a home whose configuration is in /c.
    fn check_of(fields: &Value) -> DoctorCheck {
        let mut server = json!({
            "name": "s", "state": "failed", "command": "x", "starts": 0, "calls": 0, "in_flight": 0
        });
        let fields = fields.as_object().unwrap().clone();
        server.as_object_mut().unwrap().extend(fields);
        let status = json!({
            "build": "b", "contract": 1, "pid": 1, "uptime_ms": 1, "clients": 1,
            "workers": { "ready": 0, "busy": 0, "starting": 0, "waiting": 0, "layers": [], "snapshot": false },
            "checker": { "checks": 0, "cached": 0 }, "problems": [],
            "runs": { "running": 0, "succeeded": 0, "failed": 0 },
            "servers": [server], "config": "/c/config.toml", "socket": "/s", "log": "/l",
        });
        let dirs = Dirs::under(std::path::Path::new("/nonexistent")).unwrap();
        let status = serde_json::from_value(status).unwrap();
        let group = CheckGroup::filled(|group| check_servers(group, &status, &dirs));
        group.checks.into_iter().next().unwrap()
    }

    #[test]
    fn fix_names_a_log_only_if_there_is_one() {
        let fix = |state: &str, has_log: bool| {
            let reason = "it was not ready within 10s (start_timeout)";
            check_of(&json!({ "state": state, "reason": reason, "has_log": has_log })).fix
        };
        for state in ["failed", "backing_off", "degraded"] {
            let with_log = fix(state, true).unwrap();
            assert!(with_log.contains("`mux servers logs s`"), "{with_log}");
            let without = fix(state, false).unwrap_or_default();
            assert!(!without.contains("logs"), "{without}");
        }
        assert_eq!(
            fix("failed", false).unwrap(),
            "`mux servers restart s` tries again; a longer `start_timeout` in [servers.s] in /c/config.toml allows more time"
        );
    }

    #[test]
    fn missing_program_is_one_line_with_its_directories_as_detail() {
        let check = check_of(&json!({
            "reason": "`nosuch` is not in PATH", "detail": "searched /usr/bin, /bin",
            "cause": { "kind": "missing_program" }
        }));
        assert_eq!(check.message, "s: `nosuch` is not in PATH");
        assert_eq!(
            check.fix.as_deref(),
            Some(
                "install it, or write its full path as `command` in [servers.s] in /c/config.toml"
            )
        );
        assert_eq!(check.detail.as_deref(), Some("searched /usr/bin, /bin"));
    }

    #[test]
    fn warnings_are_shown_with_the_fixes_of_the_daemon() {
        let shown = |warning: &str, fix: Value| {
            let fields = json!({ "state": "ready", "warnings": [{ "text": warning, "fix": fix }] });
            let check = check_of(&fields);
            (check.verdict, check.message, check.fix)
        };
        let warning = (
            CheckVerdict::Warning,
            "s: it is odd".to_owned(),
            Some("mend it".to_owned()),
        );
        assert_eq!(shown("it is odd", json!("mend it")), warning);
        assert_eq!(shown("it is odd; mend it", json!("mend it")), warning);
        let repaired = (CheckVerdict::Note, "s: it is odd".to_owned(), None);
        assert_eq!(shown("it is odd", Value::Null), repaired);
    }

    #[test]
    fn fix_of_an_unset_value_names_where_it_is_set() {
        let fix = |cause: Value| {
            let check = check_of(&json!({ "state": "broken", "reason": "why", "cause": cause }));
            check.fix.unwrap()
        };
        let unset = json!({ "kind": "unset_variable", "name": "TOKEN" });
        let env_file = Path::new("/c").join("env");
        let expected = format!("write TOKEN=… into {}", env_file.display());
        assert_eq!(fix(unset), expected);
        let unset = json!({ "kind": "unset_secret", "name": "GH" });
        assert_eq!(fix(unset), "`mux secrets set GH`");
        let unread = json!({ "kind": "unreadable_secret", "name": "GH" });
        assert!(fix(unread).contains("`mux secrets set GH`"));
        for unknown in [Value::Null, json!({ "kind": "newer", "name": "x" })] {
            assert_eq!(
                fix(unknown),
                "change [servers.s] in /c/config.toml and run `mux reload`"
            );
        }
    }
}
