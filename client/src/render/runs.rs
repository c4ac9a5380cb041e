//! The list of runs, and the output for runs that are started or cancelled.

use std::{process::ExitCode, time::SystemTime};

use super::terminal::{eprintln, println, report};
use comfy_table::{Cell, Color};
use mux_proto::{RunInfo, RunList, RunState};
use serde::Serialize;
use serde_json::json;

use super::{human_units, run_number, show, style::one_line, table::ListTable};

/// The maximum length of a title in the list, in characters.
pub(super) const MAX_TITLE_CHARS: usize = 60;

/// Prints the id of a detached run.
pub(crate) fn detached(run: &str, json: bool) -> ExitCode {
    show(&json!({ "run": run }), json, |_| {
        println!("{run}");
        super::note(&format!(
            "`mux runs watch {}` follows it; calls that need approval wait; `mux approvals` lists them, `mux approve \
             ID` approves one",
            run_number(run)
        ));
    })
}

pub(crate) fn runs(list: &RunList, running: bool) {
    if list.runs.is_empty() {
        eprintln!(
            "{}",
            if running {
                "nothing is running"
            } else {
                "there are no recent runs"
            }
        );
        return;
    }
    println!("{}", table(&list.runs, unix_millis()).text());
    if list.runs.len() < list.total {
        let shown = list.runs.len();
        eprintln!("{shown} of {} runs; --limit shows more", list.total);
    }
}

/// The table of runs, one row for each.
fn table(runs: &[RunInfo], now: u64) -> ListTable {
    let mut table = ListTable::new([
        "RUN", "STATE", "BEGAN", "TOOK", "CALLS", "CLIENT", "PROGRAM",
    ])
    .leaving_out(["CLIENT", "TOOK", "CALLS", "BEGAN"]);
    for run in runs {
        table.add_row([
            Cell::new(run_number(&run.run)),
            state(run),
            Cell::new(human_units::age_text(now.saturating_sub(run.accepted_ms))),
            Cell::new(human_units::duration_text(run.ms as f64)),
            Cell::new(calls_text(run)),
            Cell::new(one_line(client_name(run), MAX_TITLE_CHARS)),
            Cell::new(one_line(&run.title, MAX_TITLE_CHARS)),
        ]);
    }
    table
}

fn state(run: &RunInfo) -> Cell {
    let color = match run.state {
        RunState::Succeeded => Color::Green,
        RunState::Failed => Color::Red,
        _ => Color::Yellow,
    };
    Cell::new(state_name(run)).fg(color)
}

/// The state of a run in words. For a failed run, includes the error's kind.
pub(super) fn state_name(run: &RunInfo) -> String {
    match (run.state, &run.error) {
        (RunState::Waiting | RunState::Running, _) if run.approvals > 0 => {
            "waiting for approval".into()
        }
        (RunState::Waiting, _) => "waiting".into(),
        (RunState::Running, _) => "running".into(),
        (RunState::Succeeded, _) => "succeeded".into(),
        (RunState::Failed, Some(error)) => format!("failed ({})", error.kind),
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

/// A run that was asked to end.
#[derive(Debug, Serialize)]
pub(crate) struct CancelledRun {
    #[serde(flatten)]
    pub(crate) info: RunInfo,
    /// False if the run had already ended.
    pub(crate) cancelled: bool,
}

/// Prints which runs were cancelled, and which had already ended.
pub(crate) fn cancelled(runs: &[CancelledRun], json: bool) -> ExitCode {
    show(&json!({ "runs": runs }), json, |_| {
        for CancelledRun { info, cancelled } in runs {
            if *cancelled {
                report!("run {} was cancelled", run_number(&info.run));
            } else {
                report!(
                    "run {} had already ended: {}",
                    run_number(&info.run),
                    state_name(info)
                );
            }
        }
    })
}

pub(super) fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use mux_proto::{Error, Kind};

    use super::{super::table::tests::assert_fits, *};

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
            approvals: 0,
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
        let table = table(&[info(RunState::Running), failed], 66_000).text_within(None);
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
                    "7",
                    "running",
                    "1m ago",
                    "1.2 s",
                    "3 (1 failed)",
                    "mux",
                    "return  1"
                ],
                [
                    "7",
                    "failed (timeout)",
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

    #[test]
    fn table_of_runs_fits_the_terminal_and_keeps_ids_and_states() {
        let mut waiting = info(RunState::Running);
        waiting.run = "5f0c93a1b2c3d4e5-12".into();
        waiting.approvals = 1;
        waiting.title = "report-of-all-servers-and-of-their-tools.ts".into();
        let runs = [waiting, info(RunState::Succeeded)];
        for (width, first) in [
            (40, "12   waiting for approval  report-of-al…"),
            (
                80,
                "12   waiting for approval  1m ago  1.2 s  3 (1 failed)  mux     report-of-all-s…",
            ),
            (
                120,
                "12   waiting for approval  1m ago  1.2 s  3 (1 failed)  mux     report-of-all-servers-and-of-their-tools.ts",
            ),
        ] {
            let text = table(&runs, 66_000).text_within(Some(width));
            assert_fits(&text, 2, width);
            assert_eq!(text.lines().nth(1), Some(first), "{width}");
        }
        let piped = table(&runs, 66_000).text_within(None);
        assert!(piped.contains("  report-of-all-servers-and-of-their-tools.ts\n"));
    }
}
