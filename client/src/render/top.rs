//! The output of `mux top`: live on a terminal, or printed once.
//!
//! Invariant: the terminal is restored at the end, even after a panic.

mod draw;
mod terminal;

use std::{process::ExitCode, time::Duration};

use super::terminal::println;
use comfy_table::Cell;

pub(crate) use self::terminal::{TopTerminal, can_draw as can_draw_top};
use super::{
    amounts, document,
    lists::{bare, flush},
    runs::{TITLE, calls, client, state_name},
    style::{STRONG, one_line, paint},
};
use crate::top::{Figures, ServerFigures};

const SERVERS: [&str; 10] = [
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
const RUNS: [&str; 6] = ["RUN", "STATE", "AGE", "CALLS", "CLIENT", "PROGRAM"];

/// Prints the current figures, without a live display.
pub(crate) fn top_once(figures: &Figures, json: bool) -> ExitCode {
    if json {
        document(figures);
        return ExitCode::SUCCESS;
    }
    let [first, second] = summary(figures);
    println!("{} {first}\n{second}", paint(STRONG, "muxd"));
    if !figures.servers.is_empty() {
        let mut table = bare(SERVERS);
        for server in &figures.servers {
            table.add_row(server_cells(server).map(Cell::new));
        }
        println!("\n{}", flush(&table));
    }
    if !figures.running.is_empty() {
        let mut table = bare(RUNS);
        for run in &figures.running {
            table.add_row(run_cells(run).map(Cell::new));
        }
        println!("\n{}", flush(&table));
    }
    ExitCode::SUCCESS
}

/// Two lines about the daemon as a whole.
fn summary(figures: &Figures) -> [String; 2] {
    let uptime = Duration::from_secs(figures.uptime_seconds as u64);
    let cpu = match (figures.cpu, figures.cpu_seconds) {
        (Some(share), _) => format!("cpu {:.1}%", share * 100.0),
        (None, Some(seconds)) => format!("cpu {seconds:.1} s"),
        (None, None) => "cpu -".into(),
    };
    let (workers, runs) = (&figures.workers, &figures.runs);
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
        second.push_str(&format!("   approvals {} waiting", figures.approvals));
    }
    [
        format!(
            "{}, pid {}, up {}   {cpu}   memory {}   descriptors {}   clients {}",
            figures.build,
            figures.pid,
            humantime::format_duration(uptime),
            bytes(figures.memory_bytes),
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
        one_line(&server.name, TITLE),
        server.state.clone(),
        server.sessions.to_string(),
        server.calls.to_string(),
        server
            .calls_per_second
            .map_or_else(|| "-".into(), |rate| format!("{rate:.1}")),
        server.in_flight.to_string(),
        seconds(server.p50_seconds),
        seconds(server.p99_seconds),
        server.errors.to_string(),
        bytes(server.memory_bytes),
    ]
}

fn run_cells(run: &mux_proto::RunInfo) -> [String; 6] {
    [
        run.run.clone(),
        state_name(run),
        amounts::took(run.ms as f64),
        calls(run),
        one_line(client(run), TITLE),
        one_line(&run.title, TITLE),
    ]
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".into(), |seconds| amounts::took(seconds * 1_000.0))
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".into(), amounts::bytes)
}
