//! Conversions between the daemon's own types and the wire types.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use mux_proto as wire;

use super::{approvals, login, program_steps, sources};
use crate::daemon::LoadReport;
use mux_auth::LoginStatus;
use mux_caller::RunAccess;
use mux_catalog::{ServerWarning, ServerWarningCode};
use mux_config::environment::WORKSPACE_PLACEHOLDER;
use mux_handles::{InlineOrStored, ValueHandle, ValuePage};
use mux_journal::{RunEvent, RunSnapshot, RunStatus, SequencedEvent};
use mux_runs::program_check::CheckFindings;
use mux_settings::{ConfigChanges, SandboxSetting, ServerDefinition, ServerEndpoint};
use mux_text::json_depth;
use mux_typecheck::CheckerStatus;
use mux_upstream::{
    DeniedFile, SandboxState, Server, UnavailableCause, UpstreamState, Upstreams, without_output,
};

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

pub(super) fn event(event: SequencedEvent) -> wire::Event {
    wire::Event {
        seq: event.seq,
        at_ms: millis(event.at),
        event: match event.what {
            RunEvent::Checked {
                warnings,
                unchecked,
            } => wire::EventKind::Checked {
                warnings: warnings.into_iter().map(wire::Error::from).collect(),
                unchecked,
            },
            RunEvent::Started => wire::EventKind::Started {},
            RunEvent::ServerStarting { server } => wire::EventKind::ServerStarting { server },
            RunEvent::ServerReady { server, took } => wire::EventKind::ServerReady {
                server,
                ms: millis(took),
            },
            RunEvent::CallStarted { call, path } => wire::EventKind::CallStarted { call, path },
            RunEvent::CallProgress {
                call,
                path,
                progress,
            } => wire::EventKind::CallProgress {
                call,
                path,
                progress: progress.progress,
                total: progress.total,
                message: progress.message,
            },
            RunEvent::CallEnded {
                call,
                path,
                took,
                outcome,
            } => wire::EventKind::CallEnded {
                call,
                path,
                ms: took.as_secs_f64() * 1e3,
                bytes: *outcome.as_ref().unwrap_or(&0),
                error: outcome.err().map(wire::Error::from),
            },
            RunEvent::Step(event) => program_steps::step(event),
            RunEvent::Console { level, text } => wire::EventKind::Console { level, text },
            RunEvent::Recorded(recording) => wire::EventKind::Recorded {
                recording: handle(recording),
            },
            RunEvent::Emitted(part) => wire::EventKind::Emitted {
                part: held_value(part).unwrap_or(wire::Held::Value(wire::JsonText::default())),
            },
            RunEvent::Resumed { run, calls } => wire::EventKind::Resumed { run, calls },
            RunEvent::ApprovalAsked(request) => {
                wire::EventKind::ApprovalAsked(approvals::approval_asked(request))
            }
            RunEvent::ApprovalOver {
                approval,
                path,
                ending,
            } => wire::EventKind::ApprovalOver(approvals::approval_over(approval, path, ending)),
            RunEvent::Ended(outcome) => wire::EventKind::Ended {
                outcome: match outcome.map_err(wire::Error::from).and_then(held_value) {
                    Ok(wire::Held::Value(value)) => wire::Outcome::Result(value),
                    Ok(wire::Held::Stored(handle)) => wire::Outcome::Stored(handle),
                    Err(error) => wire::Outcome::Error(error),
                },
            },
        },
    }
}

/// Checks text that a worker or a server has produced.
fn json_text(text: String) -> Result<wire::JsonText, String> {
    let text = wire::JsonText::new(text).map_err(|error| error.to_string())?;
    // Well-formed, but the client would fail to parse it.
    if has_lone_surrogate(text.as_str()) {
        Err("a string has half of a surrogate pair".into())
    } else {
        Ok(text)
    }
}

/// True if an escape in JSON text is half of a surrogate pair. Such text is well-formed, but no string can hold it.
fn has_lone_surrogate(json: &str) -> bool {
    let utf16_unit =
        |escape: &str| u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok();
    let mut rest = json;
    while let Some((_, escape)) = rest.split_once('\\') {
        let escaped_length = match utf16_unit(escape) {
            Some(0xd800..=0xdbff) => {
                let next = escape[5..].strip_prefix('\\').and_then(utf16_unit);
                if !matches!(next, Some(0xdc00..=0xdfff)) {
                    return true;
                }
                "uD83D\\uDE00".len()
            }
            Some(0xdc00..=0xdfff) => return true,
            _ => 1,
        };
        rest = escape.get(escaped_length..).unwrap_or_default();
    }
    false
}

pub(super) fn held_value(held: InlineOrStored) -> wire::Result<wire::Held> {
    Ok(match held {
        InlineOrStored::Inline(text) => {
            json_depth::check(&text, "the result")?;
            check_fits_frame(&text)?;
            let value = json_text(text).map_err(|e| {
                wire::Error::new(wire::Kind::Internal, format!("the result is not JSON: {e}"))
            })?;
            wire::Held::Value(value)
        }
        InlineOrStored::Stored(stored) => wire::Held::Stored(handle(stored)),
    })
}

pub(super) fn handle(handle: ValueHandle) -> wire::Handle {
    let left = handle.expires.duration_since(SystemTime::now());
    wire::Handle {
        handle: handle.name,
        bytes: handle.bytes,
        preview: handle.preview,
        expires_ms: millis(left.unwrap_or_default()),
    }
}

pub(super) fn read_page(page: ValuePage) -> wire::ReadPage {
    wire::ReadPage {
        text: page.text,
        offset: page.offset,
        next: page.next,
        total: page.total,
    }
}

pub(super) fn run(run: RunSnapshot) -> wire::RunInfo {
    let accepted = run.accepted.duration_since(UNIX_EPOCH).unwrap_or_default();
    wire::RunInfo {
        run: run.id,
        state: match run.state {
            RunStatus::Waiting => wire::RunState::Waiting,
            RunStatus::Running => wire::RunState::Running,
            RunStatus::Succeeded => wire::RunState::Succeeded,
            RunStatus::Failed => wire::RunState::Failed,
        },
        client: run.origin.client.clone(),
        agent: run.origin.agent.clone(),
        workspace: run.origin.workspace.clone(),
        detached: run.detached,
        title: run.title,
        accepted_ms: millis(accepted),
        ms: millis(run.took),
        calls: run.calls.started,
        calls_ended: run.calls.ended,
        calls_failed: run.calls.failed,
        approvals: run.approvals,
        error: run.error.map(wire::Error::from),
        events: run.events,
    }
}

pub(super) fn check_diagnostics(found: CheckFindings) -> wire::Diagnostics {
    wire::Diagnostics {
        errors: found.errors.into_iter().map(wire::Error::from).collect(),
        warnings: found.warnings.into_iter().map(wire::Error::from).collect(),
        unchecked: found.unchecked,
    }
}

pub(super) fn checker_status(status: CheckerStatus) -> wire::CheckerStatus {
    wire::CheckerStatus {
        compiler: status.compiler,
        version: status.version,
        pid: status.pid,
        rss_bytes: status.rss_bytes,
        checks: status.checks,
        cached: status.cached,
        problem: status.problem,
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
        server
            .warning_fixes
            .push(warning.fix(section, &server.name));
        server.warnings.push(warning.text);
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
    let reason = |reason: Option<String>| {
        if access.is_user() {
            reason
        } else {
            reason.map(|reason| without_output(&reason).to_owned())
        }
    };
    let view = server.view();
    let account = login::account(upstreams.auth(), server);
    let described = sources::summarize_source(upstreams, server);
    let ended = account.as_ref().and_then(|account| account.ended_reason());
    let lacking = account.as_ref().and_then(|account| account.scope_warning());
    let lacking =
        lacking.map(|warning| format!("{warning}: `mux servers login {}`", server.name()));
    let of_login = ended.into_iter().chain(lacking);
    let of_login = of_login.map(|text| ServerWarningCode::Other.warning(text));
    let remarks = view.tools.as_ref().map(|tools| tools.remarks());
    let mut warnings = view.warnings;
    warnings.extend(remarks.unwrap_or_default());
    warnings.extend(of_login);
    let summary = described.iter();
    warnings.extend(summary.flat_map(|summary| sources::source_warnings(summary, server.name())));
    let has_secrets = |known: &ServerDefinition| known.link.has_secret_arguments();
    if server.definition().as_ref().is_ok_and(has_secrets) {
        warnings.push(ServerWarningCode::SecretInArgs.warning(SECRET_IN_ARGS));
    }
    let mut info = wire::ServerInfo {
        name: server.name().to_owned(),
        state: server_state(view.state),
        reason: reason(view.reason),
        detail: view.detail,
        cause: view.cause.map(server_cause),
        has_log: view.has_log,
        command: match server.definition() {
            Ok(definition) => definition.link.shown(),
            Err(_) => String::new(),
        },
        pid: view.pid,
        tools: view.tools.map(|set| set.len()),
        identity: view.identity,
        protocol: view.protocol,
        start_ms: view.start_time.map(millis),
        starts: view.starts,
        calls: view.calls,
        in_flight: view.in_flight,
        transport: view.transport.map(str::to_owned),
        share: view.share.map(|share| share.to_string()),
        share_reason: view.share_reason.map(str::to_owned),
        sessions: view
            .sessions
            .into_iter()
            .map(|session| wire::SessionInfo {
                of: session.of,
                state: server_state(session.state),
                reason: reason(session.reason),
                pid: session.pid,
            })
            .collect(),
        auth: account
            .as_ref()
            .and_then(|account| account.login_status())
            .map(auth_state),
        account: server
            .definition()
            .as_ref()
            .ok()
            .and_then(|known| known.link.account())
            .map(str::to_owned),
        who: account.as_ref().and_then(|account| account.who()),
        retry_in_ms: view.retry_in.map(millis),
        warnings: Vec::new(),
        warning_fixes: Vec::new(),
        project: server.project().map(Into::into),
        source: described.map(sources::source_info),
        sandbox: sandbox_info(server, view.sandbox, &denied_files),
    };
    add_warnings(&mut info, warnings);
    info
}

/// `None` for a server that muxd does not start.
fn sandbox_info(
    server: &Server,
    state: SandboxState,
    denied_files: &[DeniedFile],
) -> Option<wire::SandboxInfo> {
    let definition = server.definition().as_ref().ok()?;
    let ServerEndpoint::Process(process) = &definition.link else {
        return None;
    };
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
        1 => format!("{}, which an error names", file.path.display()),
        count => format!("{}, which {count} errors name", file.path.display()),
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

fn server_cause(cause: UnavailableCause) -> wire::ServerCause {
    match cause {
        UnavailableCause::MissingProgram => wire::ServerCause::MissingProgram,
        UnavailableCause::UnsetVariable(name) => wire::ServerCause::UnsetVariable { name },
        UnavailableCause::UnsetSecret(name) => wire::ServerCause::UnsetSecret { name },
        UnavailableCause::UnreadableSecret(name) => wire::ServerCause::UnreadableSecret { name },
    }
}

fn auth_state(standing: LoginStatus) -> wire::AuthState {
    match standing {
        LoginStatus::Required => wire::AuthState::Required,
        LoginStatus::SignedIn => wire::AuthState::SignedIn,
    }
}

/// The part of a report that concerns the servers of one project, or of no project.
pub(super) fn reload_report(report: LoadReport, project: Option<&Path>) -> wire::ReloadReport {
    let earlier = report.earlier.map(|earlier| {
        let report = config_changes(earlier.differences, project);
        let age_ms = millis(earlier.at.elapsed());
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
    let sections = changes.sections.into_iter();
    report.sections = sections
        .map(|change| wire::SectionChange {
            section: change.section,
            added: change.added,
            removed: change.removed,
            changed: change.changed,
        })
        .collect();
    report
}

pub(super) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn server_state(state: UpstreamState) -> wire::ServerState {
    match state {
        UpstreamState::Cold => wire::ServerState::Cold,
        UpstreamState::Starting => wire::ServerState::Starting,
        UpstreamState::Ready => wire::ServerState::Ready,
        UpstreamState::Degraded => wire::ServerState::Degraded,
        UpstreamState::BackingOff => wire::ServerState::BackingOff,
        UpstreamState::Failed => wire::ServerState::Failed,
        UpstreamState::Broken => wire::ServerState::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_not_json() {
        for (text, expected) in [
            (r#""\ud83d\uDE00 \u00e9 \\ud83d""#, true),
            (r#"["\\\ud83d\ude00", 1e999]"#, true),
            (r#""\ud83d""#, false),
            (r#""\ud83d\n""#, false),
            (r#""\ud83d\ud83d\ude00""#, false),
            (r#"{"\\\ude00":1}"#, false),
        ] {
            let read = json_text(text.to_owned());
            assert_eq!(read.is_ok(), expected, "{text}: {read:?}");
        }
    }

    #[test]
    fn value_that_exceeds_a_frame_is_an_error() {
        // Text is sent as it is: `1e15` does not become `1000000000000000.0`.
        let fitting = format!("[{}1]", "1e15,".repeat(2 << 20));
        assert!(held_value(InlineOrStored::Inline(fitting)).is_ok());
        let long = format!("[{}1]", "1e15,".repeat(4 << 20));
        let error = held_value(InlineOrStored::Inline(long)).unwrap_err();
        assert_eq!(error.kind, wire::Kind::Limit);
        assert!(error.message.contains("16773120"), "{error:?}");
    }
}
