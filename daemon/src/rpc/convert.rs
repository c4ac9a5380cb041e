//! Answers that need more than one of the daemon's types.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use mux_proto as wire;

use super::{login, sources};
use crate::daemon::LoadReport;
use mux_caller::RunAccess;
use mux_catalog::{ServerWarning, ServerWarningCode};
use mux_config::environment::WORKSPACE_PLACEHOLDER;
use mux_runs::program_check::CheckFindings;
use mux_settings::{ConfigChanges, SandboxSetting};
use mux_upstream::{Denial, SandboxState, Server, ServerView, Upstreams, without_output};

const SECRET_IN_ARGS: &str = "something in its `args` looks like a secret: it is shown as *** here, but is readable in \
                              config.toml and in the process list";

pub(super) fn welcome() -> wire::Welcome {
    wire::Welcome {
        contract: wire::version::CONTRACT,
        build: wire::version::BUILD.into(),
        pid: std::process::id(),
        features: wire::version::features(),
    }
}

/// Checks that JSON text fits into a frame.
pub(super) fn check_fits_frame(text: &str) -> wire::Result<()> {
    // The rest is for the envelope.
    const MAX_FRAME_TEXT_BYTES: usize = wire::transport::MAX_FRAME - 4096;
    let length = text.len();
    if length <= MAX_FRAME_TEXT_BYTES {
        return Ok(());
    }
    let message =
        format!("the value has {length} bytes; a message can have {MAX_FRAME_TEXT_BYTES}");
    Err(wire::Error::new(wire::Kind::Limit, message).hint("return only what you need"))
}

pub(super) fn check_diagnostics(found: CheckFindings) -> wire::Diagnostics {
    wire::Diagnostics {
        errors: found.errors.into_iter().map(wire::Error::from).collect(),
        warnings: found.warnings.into_iter().map(wire::Error::from).collect(),
        unchecked: found.unchecked,
    }
}

pub(super) fn server_instructions((server, text): (String, Arc<str>)) -> wire::ServerInstructions {
    wire::ServerInstructions {
        server,
        text: text.to_string(),
    }
}

/// Adds warnings with their fixes. The server's `source` is already set.
pub(super) fn add_warnings(
    server: &mut wire::ServerInfo,
    warnings: impl IntoIterator<Item = ServerWarning>,
) {
    let section = if server.source.is_some() {
        "sources"
    } else {
        "servers"
    };
    for warning in warnings {
        server.warnings.push(wire::ServerWarning {
            fix: warning.fix(section, &server.name),
            text: warning.text,
        });
    }
}

/// The facts about a server that a client may know. The server's output and the files that its errors named concern
/// others' calls, and are only for the user.
pub(super) async fn server_info(
    upstreams: &Upstreams,
    server: &Server,
    access: &RunAccess,
) -> wire::ServerInfo {
    let denied_files = if access.is_user() {
        server.denied_files().await
    } else {
        Vec::new()
    };
    let ServerView {
        mut info,
        tools,
        mut warnings,
        sandbox,
    } = server.view();
    if !access.is_user() {
        let of_sessions = info.sessions.iter_mut().map(|session| &mut session.reason);
        for reason in of_sessions.chain([&mut info.reason]).flatten() {
            *reason = without_output(reason).to_owned();
        }
    }
    let account = login::account(upstreams.auth(), server);
    let described = sources::summarize_source(upstreams, server);
    let ended = account.as_ref().and_then(|account| account.ended_reason());
    let lacking = account.as_ref().and_then(|account| account.scope_warning());
    let lacking =
        lacking.map(|warning| format!("{warning}: `mux servers login {}`", server.name()));
    let of_login = ended.into_iter().chain(lacking);
    let of_login = of_login.map(|text| ServerWarningCode::Other.warning(text));
    warnings.extend(tools.iter().flat_map(|tools| tools.remarks()));
    warnings.extend(of_login);
    let summary = described.iter();
    warnings.extend(summary.flat_map(|summary| sources::source_warnings(summary, server.name())));
    if let Ok(definition) = server.definition() {
        info.command = definition.endpoint.shown();
        info.account = definition.endpoint.account().map(str::to_owned);
        if definition.endpoint.has_secret_arguments() {
            warnings.push(ServerWarningCode::SecretInArgs.warning(SECRET_IN_ARGS));
        }
    }
    info.auth = account.as_ref().and_then(|account| account.login_status());
    info.who = account.as_ref().and_then(|account| account.who());
    info.project = server.project().map(Into::into);
    info.source = described.map(sources::source_info);
    info.sandbox = sandbox_info(server, sandbox, &denied_files);
    add_warnings(&mut info, warnings);
    info
}

/// `None` for a server that muxd does not start.
fn sandbox_info(
    server: &Server,
    state: SandboxState,
    denied_files: &[Denial<PathBuf>],
) -> Option<wire::SandboxInfo> {
    let process = server.process()?;
    let sandbox = match &process.sandbox {
        SandboxSetting::On(sandbox) => sandbox,
        SandboxSetting::Off { chosen } => {
            let state = match chosen {
                true => wire::SandboxState::Off,
                false => wire::SandboxState::Bare,
            };
            return Some(wire::SandboxInfo {
                state,
                ..wire::SandboxInfo::default()
            });
        }
    };
    let shown = |path: &PathBuf| {
        let text = path.to_string_lossy();
        PathBuf::from(text.replace(WORKSPACE_PLACEHOLDER, "${workspace}"))
    };
    let refused = state.refused.iter().map(|refused| match refused.count {
        1 => format!("a connection to {}", refused.target),
        count => format!("{count} connections to {}", refused.target),
    });
    // The sandbox itself reports nothing about files.
    let files = denied_files.iter().map(|file| match file.count {
        1 => format!("{}, which an error names", file.target.display()),
        count => format!("{}, which {count} errors name", file.target.display()),
    });
    Some(wire::SandboxInfo {
        state: wire::SandboxState::On,
        layers: state.layers,
        read: sandbox.read.iter().map(shown).collect(),
        write: sandbox.write.iter().map(shown).collect(),
        network: Some(sandbox.network.to_string()),
        denied: refused.chain(files).collect(),
    })
}

/// A disabled server.
pub(super) fn disabled_server_info((name, command): (String, String)) -> wire::ServerInfo {
    wire::ServerInfo {
        name,
        state: wire::ServerState::Disabled,
        command,
        ..wire::ServerInfo::default()
    }
}

/// The part of a report that concerns the servers of one project, or of no project.
pub(super) fn reload_report(report: LoadReport, project: Option<&Path>) -> wire::ReloadReport {
    let earlier = report.earlier.map(|earlier| {
        let report = config_changes(earlier.differences, project);
        let age_ms = wire::millis(earlier.at.elapsed());
        let unchanged = Vec::new();
        let report = wire::ReloadReport {
            unchanged,
            ..report
        };
        Box::new(wire::EarlierLoad { age_ms, report })
    });
    wire::ReloadReport {
        problems: report.problems,
        earlier,
        ..config_changes(report.differences, project)
    }
}

fn config_changes(changes: ConfigChanges, project: Option<&Path>) -> wire::ReloadReport {
    let end = project.map(|root| mux_settings::key("", Some(root)));
    let seen = |key: String| match (key.contains('@'), &end) {
        (false, _) => Some(key),
        (true, Some(end)) => key.strip_suffix(end.as_str()).map(str::to_owned),
        (true, None) => None,
    };
    let all = |keys: Vec<String>| -> Vec<String> { keys.into_iter().filter_map(seen).collect() };
    let changed = changes.changed.into_iter();
    let reasons: BTreeMap<_, _> = changed
        .filter_map(|(key, reasons)| Some((seen(key)?, reasons)))
        .collect();
    let mut report = wire::ReloadReport {
        added: all(changes.added),
        removed: all(changes.removed),
        changed: reasons.keys().cloned().collect(),
        unchanged: all(changes.unchanged),
        reasons,
        ..wire::ReloadReport::default()
    };
    let named = [
        &report.added,
        &report.removed,
        &report.changed,
        &report.unchanged,
    ];
    let named = named.into_iter().flatten();
    report.sources = named
        .filter(|name| changes.sources.contains(*name))
        .cloned()
        .collect();
    report.sections = changes.sections;
    report
}
