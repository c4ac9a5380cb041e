//! The list of runs, and the output for runs that are started or cancelled.

use std::{process::ExitCode, time::SystemTime};

use super::terminal::{eprintln, println};
use comfy_table::{Cell, Color};
use mux_proto::{RunInfo, RunList, RunState};
use serde_json::{Value, json};

use super::{
    amounts,
    lists::{borderless_table, table_text},
    print_document,
    style::one_line,
};

/// The maximum length of a title in the list, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 60;

/// Prints the id of a detached run.
pub(crate) fn detached(run: &str, json: bool) -> ExitCode {
    if json {
        print_document(&json!({ "ok": true, "run": run }));
    } else {
        println!("{run}");
        super::note(&format!(
            "`mux runs watch {run}` follows it; calls that need approval wait: `mux approvals` lists them, \
             `mux approve ID` approves one"
        ));
    }
    ExitCode::SUCCESS
}

pub(crate) fn runs(list: &RunList, running: bool, json: bool) -> ExitCode {
    if json {
        print_document(list);
        return ExitCode::SUCCESS;
    }
    if list.runs.is_empty() {
        eprintln!(
            "{}",
            if running {
                "nothing is running"
            } else {
                "there are no recent runs"
            }
        );
        return ExitCode::SUCCESS;
    }
    println!("{}", table(&list.runs, unix_millis()));
    if list.runs.len() < list.total {
        let shown = list.runs.len();
        eprintln!("{shown} of {} runs; --limit shows more", list.total);
    }
    ExitCode::SUCCESS
}

/// The table of runs, one row for each.
fn table(runs: &[RunInfo], now: u64) -> String {
    let mut table = borderless_table([
        "RUN", "STATE", "BEGAN", "TOOK", "CALLS", "CLIENT", "PROGRAM",
    ]);
    for run in runs {
        table.add_row([
            Cell::new(&run.run),
            state(run),
            Cell::new(amounts::age_text(now.saturating_sub(run.accepted_ms))),
            Cell::new(amounts::duration_text(run.ms as f64)),
            Cell::new(calls_text(run)),
            Cell::new(one_line(client_name(run), MAX_TITLE_CHARS)),
            Cell::new(one_line(&run.title, MAX_TITLE_CHARS)),
        ]);
    }
    table_text(&table)
}

fn state(run: &RunInfo) -> Cell {
    let color = match run.state {
        RunState::Succeeded => Color::Green,
        RunState::Failed => Color::Red,
        _ => Color::Yellow,
    };
    Cell::new(state_name(run)).fg(color)
}

/// The name of a run's state; for a failed run, the error's kind.
pub(super) fn state_name(run: &RunInfo) -> String {
    match (run.state, &run.error) {
        (RunState::Waiting, _) => "waiting".into(),
        (RunState::Running, _) => "running".into(),
        (RunState::Succeeded, _) => "succeeded".into(),
        (RunState::Failed, Some(error)) => error.kind.to_string(),
        (RunState::Failed, None) => "failed".into(),
        _ => "unknown".into(),
    }
}

pub(super) fn calls_text(run: &RunInfo) -> String {
    match run.calls_failed {
        0 => run.calls.to_string(),
        failed => format!("{} ({failed} failed)", run.calls),
    }
}

/// The name of the agent, or of the client if there is none.
pub(super) fn client_name(run: &RunInfo) -> &str {
    run.agent.as_deref().unwrap_or(&run.client)
}

/// Prints which runs were cancelled, and which had already ended.
pub(crate) fn cancelled(runs: &[(RunInfo, bool)], json: bool) -> ExitCode {
    if json {
        let runs: Vec<Value> = runs
            .iter()
            .map(|(info, cancelled)| {
                json!({ "run": info.run, "cancelled": cancelled, "state": info.state })
            })
            .collect();
        print_document(&json!({ "ok": true, "runs": runs }));
        return ExitCode::SUCCESS;
    }
    for (info, cancelled) in runs {
        if *cancelled {
            println!("{} was cancelled", info.run);
        } else {
            println!("{} had ended: {}", info.run, state_name(info));
        }
    }
    ExitCode::SUCCESS
}

pub(super) fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use mux_proto::{Error, Kind};

    use super::*;

    pub(in super::super) fn info(state: RunState) -> RunInfo {
        RunInfo {
            run: "9f-7".into(),
            state,
            client: "mux".into(),
            agent: None,
            workspace: None,
            detached: true,
            title: "return\u{1b} 1".into(),
            accepted_ms: 1_000,
            ms: 1_234,
            calls: 3,
            calls_ended: 3,
            calls_failed: 1,
            error: None,
            events: 9,
        }
    }

    #[test]
    fn run_is_one_row_without_control_characters() {
        let mut failed = info(RunState::Failed);
        failed.error = Some(Error::new(Kind::Timeout, "too long"));
        failed.agent = Some("coder\nx".into());
        failed.calls_failed = 0;
        let table = table(&[info(RunState::Running), failed], 66_000);
        let table = anstream::adapter::strip_str(&table).to_string();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|row| {
                row.split("  ")
                    .map(str::trim)
                    .filter(|c| !c.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(
            rows,
            [
                [
                    "RUN", "STATE", "BEGAN", "TOOK", "CALLS", "CLIENT", "PROGRAM"
                ],
                [
                    "9f-7",
                    "running",
                    "1m ago",
                    "1.2 s",
                    "3 (1 failed)",
                    "mux",
                    "return  1"
                ],
                [
                    "9f-7",
                    "timeout",
                    "1m ago",
                    "1.2 s",
                    "3",
                    "coder x",
                    "return  1"
                ],
            ]
            .map(|row| row.iter().flat_map(|c| c.split("  ")).collect::<Vec<_>>())
        );
    }
}
