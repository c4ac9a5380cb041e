//! `mux status` on one screen.

use std::{path::Path, process::ExitCode, time::Duration};

use anstream::{eprintln, println};
use mux_proto::{CheckerStatus, Status, TelemetryStatus};
use serde_json::{Value, json};

use super::{
    document,
    lists::{remarks_on, table},
    shown, started_by,
    style::{DIM, NAME, STRONG, harmless, one_line, paint},
    warn,
};

pub(crate) fn status(status: &Status, json: bool) -> ExitCode {
    if json {
        let mut whole = json!({ "running": true });
        if let (Some(whole), Ok(Value::Object(status))) =
            (whole.as_object_mut(), serde_json::to_value(status))
        {
            whole.extend(status);
        }
        document(&whole);
        return ExitCode::SUCCESS;
    }
    let uptime = Duration::from_secs(status.uptime_ms / 1_000);
    println!(
        "{} {} (contract {}), pid {}, up {}",
        paint(STRONG, "muxd"),
        status.build,
        status.contract,
        status.pid,
        humantime::format_duration(uptime)
    );
    let line = |what: &str, text: String| println!("{} {text}", paint(DIM, format!("{what:<8}")));
    line(
        "engine",
        match status.engine.as_deref() {
            Some("quickjs") => {
                "quickjs (V8 was not to be had at build time; see README, Engines)".into()
            }
            Some(engine) => match &status.engine_version {
                Some(version) => format!("{engine} {version}"),
                None => engine.into(),
            },
            None => "not started yet".into(),
        },
    );
    if status.started.is_some() {
        line("started", started_by(status.started.as_ref()));
    }
    if let Some(spans) = status.telemetry.as_ref().and_then(spans) {
        line("spans", spans);
    }
    let workers = &status.workers;
    line(
        "workers",
        format!(
            "{} ready, {} busy, {} starting; {} runs wait",
            workers.ready, workers.busy, workers.starting, workers.waiting
        ),
    );
    if !workers.layers.is_empty() {
        line("walls", workers.layers.join(", "));
    }
    if status.engine.is_some() {
        let text = if workers.snapshot {
            "isolates are built from one"
        } else {
            "none; isolates are built from source"
        };
        line("snapshot", text.into());
    }
    line("types", types(&status.checker));
    let runs = &status.runs;
    line(
        "runs",
        format!(
            "{} running, {} succeeded, {} failed",
            runs.running, runs.succeeded, runs.failed
        ),
    );
    line("clients", status.clients.to_string());
    if let Some(bytes) = status.rss_bytes {
        line(
            "memory",
            format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        );
    }
    line("config", shown(&status.config));
    line("log", shown(&status.log));
    line("socket", shown(&status.socket));
    if !status.servers.is_empty() {
        println!("\n{}", table(&status.servers));
        // What keeps some functions of an API from being called shows in no column.
        for source in status
            .servers
            .iter()
            .filter(|server| server.source.is_some())
        {
            for remark in remarks_on(source) {
                println!("{}: {}", paint(NAME, &source.name), harmless(&remark));
            }
        }
    }
    for problem in &status.problems {
        warn(problem);
    }
    ExitCode::SUCCESS
}

/// How programs are checked.
/// Where they go; nothing where nobody wants any.
fn spans(telemetry: &TelemetryStatus) -> Option<String> {
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

fn types(checker: &CheckerStatus) -> String {
    if let Some(problem) = &checker.problem {
        return format!("not checked: {problem}");
    }
    let compiler = match (&checker.version, &checker.compiler) {
        (Some(version), _) => format!("TypeScript {version}"),
        (None, Some(compiler)) => shown(compiler),
        (None, None) => return "not checked yet".into(),
    };
    let checks = format!(
        "{} programs checked, {} known before",
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

/// There is nothing to show.
pub(crate) fn not_running(socket: &Path, json: bool) {
    if json {
        document(&json!({ "running": false, "socket": socket }));
    } else {
        eprintln!("no muxd is running; it starts with the first command that needs it");
    }
}
