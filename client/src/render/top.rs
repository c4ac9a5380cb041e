//! The output of `mux top`: live on a terminal, or printed once.
//!
//! Invariant: the terminal is restored at the end, even after a panic.

mod draw;
mod terminal;

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use super::terminal::println;
use comfy_table::Cell;

pub(crate) use self::terminal::{TopTerminal, can_draw as can_draw_top};
use super::{
    human_units, print_document, run_number,
    runs::{MAX_TITLE_CHARS, calls_text, client_name, state_name},
    style::{STRONG, one_line, paint},
    table::ListTable,
};
use crate::top::{ServerFigures, TopFigures};

const SERVER_COLUMNS: [&str; 10] = [
    "SERVER",
    "STATE",
    "SESSIONS",
    "CALLS",
    "CALLS/S",
    "IN FLIGHT",
    "P50",
    "P99",
    "ERRORS",
    "MEMORY",
];
/// The columns that narrow terminals leave out, the first one first.
const OPTIONAL_SERVER_COLUMNS: [&str; 6] =
    ["SESSIONS", "IN FLIGHT", "MEMORY", "CALLS", "P50", "ERRORS"];
const RUN_COLUMNS: [&str; 6] = ["RUN", "STATE", "AGE", "CALLS", "CLIENT", "PROGRAM"];

/// Prints the current figures, without a live display.
pub(crate) fn top_once(figures: &TopFigures, json: bool) -> ExitCode {
    if json {
        print_document(figures);
        return ExitCode::SUCCESS;
    }
    let [first, second] = summary_lines(figures);
    println!("{} {first}\n{second}", paint(STRONG, "muxd"));
    if !figures.servers.is_empty() {
        let mut table = ListTable::new(SERVER_COLUMNS)
            .cutting("SERVER")
            .leaving_out(OPTIONAL_SERVER_COLUMNS);
        for server in &figures.servers {
            table.add_row(server_cells(server).map(Cell::new));
        }
        println!("\n{}", table.text());
    }
    if !figures.running.is_empty() {
        let mut table = ListTable::new(RUN_COLUMNS).leaving_out(["CLIENT", "CALLS", "AGE"]);
        for run in &figures.running {
            table.add_row(run_cells(run).map(Cell::new));
        }
        println!("\n{}", table.text());
    }
    ExitCode::SUCCESS
}

/// Two lines about the daemon as a whole.
fn summary_lines(figures: &TopFigures) -> [String; 2] {
    let uptime = Duration::try_from_secs_f64(figures.uptime_seconds).unwrap_or_default();
    let uptime = Duration::from_secs(uptime.as_secs());
    let cpu = match (figures.cpu, figures.cpu_seconds) {
        (Some(share), _) => format!("cpu {:.1}%", share * 100.0),
        (None, Some(seconds)) => format!("cpu {seconds:.1} s"),
        (None, None) => "cpu -".into(),
    };
    let workers = &figures.workers;
    let runs = &figures.runs;
    let mut second = format!(
        "runs {} running, {} succeeded, {} failed   workers {} ready, {} busy, {} starting, {} waiting",
        runs.running,
        runs.succeeded,
        runs.failed,
        workers.ready,
        workers.busy,
        workers.starting,
        workers.waiting
    );
    if figures.approvals > 0 {
        _ = write!(second, "   approvals {} waiting", figures.approvals);
    }
    [
        format!(
            "{}, pid {}, up {}   {cpu}   memory {}   descriptors {}   clients {}",
            figures.build,
            figures.pid,
            humantime::format_duration(uptime),
            size_or_dash(figures.memory_bytes),
            figures
                .open_fds
                .map_or_else(|| "-".into(), |fds| fds.to_string()),
            figures.clients
        ),
        second,
    ]
}

fn server_cells(server: &ServerFigures) -> [String; 10] {
    [
        one_line(&server.name, MAX_TITLE_CHARS),
        server.state.clone(),
        server.sessions.to_string(),
        server.calls.to_string(),
        server
            .calls_per_second
            .map_or_else(|| "-".into(), |rate| format!("{rate:.1}")),
        server.in_flight.to_string(),
        seconds_or_dash(server.p50_seconds),
        seconds_or_dash(server.p99_seconds),
        server.errors.to_string(),
        size_or_dash(server.memory_bytes),
    ]
}

fn run_cells(run: &mux_proto::RunInfo) -> [String; 6] {
    [
        run_number(&run.run).to_owned(),
        state_name(run),
        human_units::duration_text(run.ms as f64),
        calls_text(run),
        one_line(client_name(run), MAX_TITLE_CHARS),
        one_line(&run.title, MAX_TITLE_CHARS),
    ]
}

fn seconds_or_dash(seconds: Option<f64>) -> String {
    seconds.map_or_else(
        || "-".into(),
        |seconds| human_units::duration_text(seconds * 1_000.0),
    )
}

fn size_or_dash(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".into(), human_units::size_text)
}
