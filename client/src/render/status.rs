//! The output of `mux status`.

use std::{collections::BTreeMap, path::Path, process::ExitCode, time::Duration};

use super::terminal::{eprintln, println};
use mux_proto::{CheckerStatus, Degraded, ServerInfo, Status, TelemetryStatus};
use serde_json::json;

use super::{
    display_path, human_units,
    lists::{print_remarks, server_remarks, server_table},
    print_document, print_extended, screen_fit, start_origin_text,
    style::{DIM, STRONG, WARN, escape_text, one_line, paint},
    warn,
};

/// Prints the daemon's status. `all`: everything, even if it does not fit on one screen.
pub(crate) fn status(status: &Status, all: bool, json: bool) -> ExitCode {
    if json {
        print_extended(status, "running", Some(true));
        return ExitCode::SUCCESS;
    }
    let mut above = head_lines(status);
    if all {
        println!("{}", above.join("\n"));
        println!("{}", detail_lines(status, true).join("\n"));
        servers(&status.servers);
    } else {
        above.extend(detail_lines(status, false));
        println!("{}", above.join("\n"));
        if !status.servers.is_empty() {
            // Problems are printed below, on the same screen.
            let above = above.len() + 1 + status.problems.len();
            println!(
                "\n{}",
                screen_fit::fitting_lines(&status.servers, above).join("\n")
            );
        }
    }
    for problem in &status.problems {
        warn(&problem.message);
    }
    ExitCode::SUCCESS
}

/// The lines for the daemon itself and its degraded modes.
fn head_lines(status: &Status) -> Vec<String> {
    let uptime = Duration::from_secs(status.uptime_ms / 1_000);
    let mut lines = vec![format!(
        "{} {} (contract {}), pid {}, up {}",
        paint(STRONG, "muxd"),
        status.build,
        status.contract,
        status.pid,
        humantime::format_duration(uptime)
    )];
    for Degraded { mode, message, fix } in &status.degraded {
        let mode = paint(WARN, format!("degraded ({}):", escape_text(mode)));
        lines.push(format!("{mode} {}", super::indent_continuation(message)));
        lines.push(format!(
            "  {} {}",
            paint(DIM, "fix:"),
            super::indent_continuation(fix)
        ));
    }
    lines
}

fn labeled_line(what: &str, text: impl std::fmt::Display) -> String {
    format!("{} {text}", paint(DIM, format!("{what:<8}")))
}

fn engine(status: &Status) -> String {
    match status.engine.as_deref() {
        Some("quickjs") => {
            "quickjs (V8 was not available at build time; see docs/dev/platforms.md)".into()
        }
        Some(engine) => match &status.engine_version {
            Some(version) => format!("{engine} {version}"),
            None => engine.into(),
        },
        None => "not started yet".into(),
    }
}

fn workers(status: &Status) -> String {
    let workers = &status.workers;
    format!(
        "{} ready, {} busy, {} starting; {} runs waiting",
        workers.ready, workers.busy, workers.starting, workers.waiting
    )
}

fn runs(status: &Status) -> String {
    let runs = &status.runs;
    format!(
        "{} running, {} succeeded, {} failed",
        runs.running, runs.succeeded, runs.failed
    )
}

fn memory(status: &Status) -> Option<String> {
    let bytes = status.rss_bytes?;
    Some(format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)))
}

/// The lines below the head: what fits on one screen, or with `all` everything.
fn detail_lines(status: &Status, all: bool) -> Vec<String> {
    let memory = memory(status);
    let engine = match &memory {
        Some(memory) if !all => format!("{}, {memory}", engine(status)),
        _ => engine(status),
    };
    let mut lines = vec![labeled_line("engine", engine)];
    if status.started.is_some() {
        lines.push(labeled_line(
            "start",
            start_origin_text(status.started.as_ref()),
        ));
    }
    if let Some(spans) = status.telemetry.as_ref().and_then(spans_text) {
        lines.push(labeled_line("spans", spans));
    }
    lines.push(labeled_line("workers", workers(status)));
    if all && !status.workers.layers.is_empty() {
        lines.push(labeled_line("sandbox", status.workers.layers.join(", ")));
    }
    if all && status.engine.is_some() {
        let text = if status.workers.snapshot {
            "isolates start from one"
        } else {
            "none; isolates start from source"
        };
        lines.push(labeled_line("snapshot", text));
    }
    lines.push(labeled_line("types", checker_text(&status.checker)));
    if all {
        lines.push(labeled_line("runs", runs(status)));
        lines.push(labeled_line("clients", status.clients));
    } else {
        let clients = human_units::count_text(status.clients, "client");
        lines.push(labeled_line("runs", format!("{}; {clients}", runs(status))));
    }
    lines.extend(agent_line(status));
    lines.extend(
        memory
            .filter(|_| all)
            .map(|memory| labeled_line("memory", memory)),
    );
    lines.push(labeled_line("config", display_path(&status.config)));
    lines.push(labeled_line("log", display_path(&status.log)));
    if all {
        lines.push(labeled_line("socket", display_path(&status.socket)));
    }
    lines
}

/// The connected agents, each with its profile.
fn agent_line(status: &Status) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for agent in &status.agents {
        let name = one_line(&format!("{} {}", agent.name, agent.version), 60);
        let profile = one_line(agent.profile.as_deref().unwrap_or("none"), 40);
        *counts
            .entry(format!("{name} (profile {profile})"))
            .or_default() += 1;
    }
    let agents = counts.into_iter().map(|(agent, count)| match count {
        1 => agent,
        count => format!("{count} of {agent}"),
    });
    let agents: Vec<String> = agents.collect();
    (!agents.is_empty()).then(|| labeled_line("agents", agents.join(", ")))
}

fn servers(servers: &[ServerInfo]) {
    if servers.is_empty() {
        return;
    }
    println!("\n{}", server_table(servers).text());
    // The table has no column for functions of an API that cannot be called.
    for source in servers.iter().filter(|server| server.source.is_some()) {
        print_remarks(source, server_remarks(source));
    }
}

/// Where trace spans are sent, or `None` if no endpoint is configured.
fn spans_text(telemetry: &TelemetryStatus) -> Option<String> {
    let to = one_line(telemetry.endpoint.as_deref()?, 120);
    if !telemetry.built_in {
        return Some(format!(
            "not sent to {to}: this muxd is built without OpenTelemetry"
        ));
    }
    let lost = match telemetry.lost {
        0 => String::new(),
        lost => format!(", {lost} lost"),
    };
    let problem = telemetry.problem.as_deref();
    let problem = problem.map_or_else(String::new, |why| format!(": {}", one_line(why, 300)));
    Some(format!("{} sent to {to}{lost}{problem}", telemetry.sent))
}

/// The state of the type checker.
fn checker_text(checker: &CheckerStatus) -> String {
    if let Some(problem) = &checker.problem {
        return format!("not checked: {}", super::indent_continuation(problem));
    }
    let compiler = match (&checker.version, &checker.compiler) {
        (Some(version), _) => format!("TypeScript {version}"),
        (None, Some(compiler)) => display_path(compiler),
        (None, None) => return "not checked yet".into(),
    };
    let checks = format!(
        "{} programs checked, {} cached",
        checker.checks, checker.cached
    );
    match (checker.pid, checker.rss_bytes) {
        (Some(pid), Some(bytes)) => {
            let memory = bytes as f64 / f64::from(1 << 20);
            format!("{compiler}, pid {pid}, {memory:.1} MiB; {checks}")
        }
        _ => format!("{compiler}, not running now; {checks}"),
    }
}

/// Prints that no daemon is running.
pub(crate) fn not_running(socket: &Path, json: bool) {
    if json {
        print_document(&json!({ "running": false, "socket": socket }));
    } else {
        eprintln!("no muxd is running; the first command that needs it starts it");
    }
}
