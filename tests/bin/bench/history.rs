//! A history with 100,000 runs: what a run costs on disk and to write, and how long its readers take. The baseline is
//! one row of the same database, read by its key.

use std::{fs, path::Path, sync::Arc, time::Instant};

use anyhow::{Context as _, ensure};
use mux_caller::{ClientOrigin, RunAccess};
use mux_journal::{BegunCall, History, JournalOptions, Program, RunJournal, history::RunFilter};
use mux_messages::{EventKind, JsonText, Outcome};
use mux_wire::CallTarget;

use super::figures::{Samples, fact, row};

const RUNS: usize = 100_000;
const CALLS_PER_RUN: usize = 5;
/// Runs between two waits for the writer, fewer than its queue takes.
const BATCH: usize = 1_000;
const LISTED: usize = 20;

pub(crate) async fn measure(rounds: usize) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let database = home.path().join("history.db");
    let history = History::open(Some(database.clone()), true);
    let began = Instant::now();
    for first in (1..=RUNS).step_by(BATCH) {
        for number in first..first + BATCH {
            write_run(&history, number)?;
        }
        history.flush().await;
    }
    ensure!(history.problem().is_none(), "{:?}", history.problem());
    let per_run = began.elapsed().as_secs_f64() * 1e6 / RUNS as f64;
    fact(
        &format!("a run of {CALLS_PER_RUN} calls, written"),
        &format!("{per_run:.0} µs"),
    );
    let bytes = bytes_of(&database)? as f64;
    fact(
        &format!("a run of {CALLS_PER_RUN} calls, on disk"),
        &format!("{:.0} bytes", bytes / RUNS as f64),
    );
    tokio::task::spawn_blocking(move || read(&history, &database, rounds)).await?
}

fn read(history: &History, database: &Path, rounds: usize) -> anyhow::Result<()> {
    let own = RunAccess::Own(origin(7));
    for (what, access) in [("all", RunAccess::Everyone), ("those of one agent", own)] {
        let filter = RunFilter {
            access,
            limit: LISTED,
        };
        let mut samples = Samples::default();
        for _ in 0..rounds {
            let (runs, _) = samples.time(|| history.list(&filter))?;
            ensure!(runs.len() == LISTED, "{} runs", runs.len());
        }
        row(&format!("list the latest {LISTED} of {what}"), &samples);
    }
    let mut show = Samples::default();
    let mut events = Samples::default();
    let mut key = Samples::default();
    let connection = rusqlite::Connection::open(database)?;
    let mut by_key = connection.prepare("SELECT info FROM runs WHERE id = ?1")?;
    for round in 0..rounds {
        let number = (1 + round * 7919 % RUNS).to_string();
        let record = show.time(|| history.record(&number, &RunAccess::Everyone))?;
        let record = record.context("the run is there")?;
        ensure!(record.calls.len() == CALLS_PER_RUN, "{record:?}");
        let page = events.time(|| history.events(&number, &RunAccess::Everyone, 0, 1 << 20))?;
        ensure!(page.is_some_and(|events| !events.is_empty()), "no events");
        let text: String = key.time(|| by_key.query_row([&number], |row| row.get(0)))?;
        ensure!(!text.is_empty(), "an empty row");
    }
    row("show one with its calls", &show);
    row("the events of one", &events);
    row("(one row by its key)", &key);
    Ok(())
}

fn origin(number: usize) -> Arc<ClientOrigin> {
    let agent = format!("agent-{}", number % 10);
    Arc::new(ClientOrigin::new("claude-code", Some(&agent), None))
}

/// A run as agents send them: a program of some lines, short arguments, and results of half a kilobyte.
fn write_run(history: &History, number: usize) -> anyhow::Result<()> {
    let source = format!(
        "// Looks for issue {number}\n{}",
        "const found = await mux.github.list_issues({ owner: 'o', repo: 'r' })\n".repeat(5)
    );
    let program = Program {
        source: source.into(),
        title: format!("Looks for issue {number}"),
        origin: origin(number),
        input: "null".into(),
        ..Program::default()
    };
    let options = JournalOptions {
        max_call_bytes: 1 << 20,
        ..JournalOptions::default()
    };
    let run = RunJournal::new(format!("bench-{number}"), program, options);
    run.write_to(history.feed());
    run.push(EventKind::Started {});
    for call in 0..CALLS_PER_RUN {
        let target = CallTarget::Path {
            path: "github.list_issues".into(),
            raw: false,
        };
        let arguments = format!(r#"{{"owner":"o","repo":"r","page":{call}}}"#);
        let BegunCall::New(index) = run.begin_call(&target, &arguments.into()) else {
            anyhow::bail!("the call is not new");
        };
        run.number_call(index, u32::try_from(call)? + 1);
        let result = format!(r#"{{"number":{number},"title":"{}"}}"#, "x".repeat(500));
        run.end_call(index, &Ok(result));
    }
    let outcome = Outcome::Result(JsonText::from(serde_json::json!(5)));
    run.push(EventKind::Ended { outcome });
    Ok(())
}

fn bytes_of(database: &Path) -> anyhow::Result<u64> {
    let folder = database.parent().context("the database has a folder")?;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
