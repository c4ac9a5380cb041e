//! The output of `mux service`.

use std::{fmt::Write as _, path::PathBuf, process::ExitCode, time::Duration};

use super::terminal::{eprintln, keep_reports, println, report};
use mux_proto::{Error, Started, StartedBy};
use serde::Serialize;

use super::{
    display_path, print_document,
    style::{DIM, GOOD, STRONG, paint},
    warn,
};

/// A change of the service, or the plan of one with `--dry-run`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct ServiceChange {
    pub(crate) service: String,
    pub(crate) system: &'static str,
    /// False for a removal.
    pub(crate) installs: bool,
    pub(crate) dry_run: bool,
    pub(crate) files: Vec<ServiceFile>,
    /// The commands that were run, in order.
    pub(crate) ran: Vec<String>,
    /// The daemon that was stopped because a client had started it.
    pub(crate) made_room: Option<u32>,
    /// The service manager listens for clients. Otherwise, it starts muxd at the login.
    pub(crate) listens: bool,
    pub(crate) socket: PathBuf,
}

impl ServiceChange {
    /// Returns true if the service was already in the desired state.
    pub(crate) fn is_idle(&self) -> bool {
        self.ran.is_empty() && self.files.iter().all(|file| !file.changes)
    }
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub(crate) struct ServiceFile {
    pub(crate) path: PathBuf,
    pub(crate) changes: bool,
    /// The new content, or `None` if the file is removed.
    pub(crate) text: Option<String>,
    pub(crate) diff: String,
}

/// The status of the service.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(crate) struct ServiceReport {
    pub(crate) service: String,
    pub(crate) system: &'static str,
    pub(crate) installed: bool,
    pub(crate) files: Vec<PathBuf>,
    /// Files whose content this version would write differently.
    pub(crate) stale: Vec<PathBuf>,
    /// Why the service manager cannot be reached.
    pub(crate) unreachable: Option<Error>,
    pub(crate) active: bool,
    pub(crate) enabled: bool,
    /// The service manager listens for clients. Otherwise, it starts muxd at the login.
    pub(crate) listens: bool,
    pub(crate) socket: PathBuf,
    /// The running daemon.
    pub(crate) pid: Option<u32>,
    pub(crate) started: Option<Started>,
}

pub(crate) fn service_changed(change: &ServiceChange) {
    if change.dry_run {
        keep_reports();
    }
    let would = if change.dry_run { "would run" } else { "ran" };
    for file in change.files.iter().filter(|file| file.changes) {
        if file.diff.is_empty() {
            report!("{}", display_path(&file.path));
        } else {
            report!("{}", file.diff.trim_end());
        }
    }
    for line in &change.ran {
        report!("{} {line}", paint(DIM, would));
    }
    if let Some(pid) = change.made_room {
        report!("the previous muxd (pid {pid}) has exited");
    }
    let service = paint(STRONG, &change.service);
    match (change.dry_run, change.installs, change.is_idle()) {
        (true, _, false) => eprintln!("nothing was changed"),
        (_, true, true) => report!("{service} is already installed and active"),
        (_, false, true) => report!("{service} is not installed"),
        (false, true, false) if !change.listens => report!(
            "{} {} has started {service} and starts it when you log in",
            paint(GOOD, "done:"),
            change.system
        ),
        (false, true, false) => report!(
            "{} {} listens on {} and starts {service} for the first client",
            paint(GOOD, "done:"),
            change.system,
            display_path(&change.socket)
        ),
        (false, false, false) => report!(
            "{} {service} is removed; the first client starts muxd, as before",
            paint(GOOD, "done:")
        ),
    }
}

pub(crate) fn service(report: &ServiceReport, json: bool) -> ExitCode {
    let in_force = report.installed && report.active;
    let code = ExitCode::from(if in_force { 0 } else { 3 });
    if json {
        print_document(report);
        return code;
    }
    let line = |what: &str, text: String| println!("{} {text}", paint(DIM, format!("{what:<8}")));
    if report.installed {
        let state = match (report.active, report.enabled) {
            (true, true) => format!("active, {}", report.system),
            (true, false) => format!("active until the next login, {}", report.system),
            (false, _) => format!("not active, {}", report.system),
        };
        println!("{} {state}", paint(STRONG, &report.service));
        for file in &report.files {
            line("file", display_path(file));
        }
        line("socket", display_path(&report.socket));
    } else {
        println!(
            "no service is installed: the first client starts muxd; `mux service install` installs one"
        );
    }
    match report.pid {
        Some(pid) => {
            let started = start_origin_text(report.started.as_ref());
            line("muxd", format!("pid {pid}, {started}"));
        }
        None => line("muxd", "not running; the first client starts it".into()),
    }
    for file in &report.stale {
        let file = display_path(file);
        warn(format_args!(
            "{file} is not what this mux would write; `mux service install --dry-run` shows what differs"
        ));
    }
    if let Some(error) = &report.unreachable {
        warn(&error.message);
        if let Some(hint) = &error.hint {
            eprintln!("{hint}");
        }
    } else if report.installed && !report.active {
        warn(if report.listens {
            "the service does not listen; `mux service install` activates it"
        } else {
            "the service is not active; `mux service install` activates it"
        });
    }
    code
}

/// Describes how a daemon was started.
pub(crate) fn start_origin_text(started: Option<&Started>) -> String {
    let Some(started) = started else {
        return "started by an unknown parent".into();
    };
    let service = match &started.service {
        Some(service) => format!(" ({service})"),
        None => String::new(),
    };
    let mut text = match started.by {
        StartedBy::Client => "started by a client".to_owned(),
        StartedBy::Hand => "started by hand".to_owned(),
        StartedBy::Systemd => format!("started by systemd{service}"),
        StartedBy::Launchd => format!("started by launchd{service}"),
        StartedBy::Other => format!("started by a service{service}"),
    };
    if started.socket_passed {
        text.push_str(", which listens on the socket");
    }
    if let Some(ms) = started.watchdog_ms {
        let patience = humantime::format_duration(Duration::from_millis(ms));
        _ = write!(text, "; watchdog {patience}");
    }
    text
}
