//! A process that writes a history is killed at a random moment, again and again, with one database.
//!
//! Invariant: what the process had announced as written is there afterwards, what it had announced as used up is not,
//! and the database is never set aside.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use mux_chance::{broken, holds};
use proptest::test_runner::TestCaseResult;
use tokio::runtime::Runtime;

use super::super::{
    HeldApproval, HeldOwner, History, RunFilter,
    tests::{ALL, begin_run, call, end},
};
use crate::{call_log::BegunCall, run_journal::run_number};
use mux_messages::RunState;
use mux_wire::CallTarget;

/// The environment variable with the database of the other process.
const DATABASE: &str = "MUX_TEST_HISTORY";
/// How long the other process is given to start or to end.
const HANG: Duration = Duration::from_mins(1);
/// Older held calls are used up when a process starts.
const MAX_HELD_RUNS: usize = 20;

/// As the other process: writes runs until it is killed. As a test: does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is its own other process"
    )]
    let database = env::var_os(DATABASE).map(PathBuf::from);
    if let Some(database) = database {
        live(database).await;
    }
}

#[test]
fn killed_processes_lose_nothing_that_was_announced() {
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("history.db");
    let announced = RefCell::new(Announced::default());
    holds("kills", 60, 0..60_000_u64, |micros| {
        let announced = &mut *announced.borrow_mut();
        announced.read_life(&database, Duration::from_micros(micros));
        announced.check(&database)
    });
    let announced = announced.borrow();
    assert!(announced.total > 100, "{} announcements", announced.total);
}

/// The announcements of all processes so far.
#[derive(Default)]
struct Announced {
    /// The runs that wait for approval, each with the number of its calls.
    held: BTreeMap<String, usize>,
    /// The run whose approval is being used up. Its rows may be there.
    leaving: Option<String>,
    written: Vec<String>,
    used: Vec<String>,
    total: usize,
}

impl Announced {
    /// Has a process write until the time is up, then kills it.
    fn read_life(&mut self, database: &Path, time: Duration) {
        self.written.clear();
        self.used.clear();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([
            "history::fuzz::kills::a_life",
            "--exact",
            "--test-threads=1",
            "--nocapture",
        ]);
        command.env(DATABASE, database);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let mut line = lines.recv_timeout(HANG).unwrap();
        while !line.ends_with("ready") {
            line = lines.recv_timeout(HANG).unwrap();
        }
        let end = Instant::now() + time;
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.note(&line),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => panic!("it ended with {:?}", child.wait()),
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while let Ok(line) = lines.recv_timeout(HANG) {
            self.note(&line);
        }
    }

    fn note(&mut self, line: &str) {
        self.total += 1;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["held", run, calls] => {
                self.held.insert(run.to_owned(), calls.parse().unwrap());
            }
            ["leaving", run] => self.leaving = Some(run.to_owned()),
            ["used", run] => {
                self.held.remove(run);
                self.used.push(run.to_owned());
            }
            ["written", run] => self.written.push(run.to_owned()),
            _ => panic!("{line}"),
        }
    }

    fn check(&mut self, database: &Path) -> TestCaseResult {
        let history = History::open(Some(database.to_owned()), true);
        let runtime = Runtime::new().unwrap();
        let held = history
            .read_held()
            .map_err(|error| broken(error.to_string()))?;
        let held: BTreeMap<_, _> = held
            .into_iter()
            .map(|run| (run.owner.clone(), run))
            .collect();
        if let Some(run) = self.leaving.take()
            && !held.contains_key(&run)
        {
            self.held.remove(&run);
        }
        for (run, calls) in &self.held {
            let Some(found) = held.get(run) else {
                return Err(broken(format!("the held run {run} is lost")));
            };
            let saved = runtime.block_on(history.read_held_run(run.clone()));
            let saved = saved.unwrap().and_then(|saved| saved.calls);
            if found.approvals.len() != 1 || saved.as_ref().map(Vec::len) != Some(*calls) {
                return Err(broken(format!("{run}: {found:?} {saved:?}")));
            }
        }
        let last = history.last_number();
        if let Some(run) = self.held.keys().find(|run| run_number(run) > last) {
            return Err(broken(format!("the number of {run} would be used again")));
        }
        if let Some(run) = self.used.iter().find(|run| held.contains_key(*run)) {
            return Err(broken(format!("the used approval of {run} is back")));
        }
        for run in &self.written {
            let record = history.record(run, &ALL).unwrap();
            let is_whole = record.as_ref().is_some_and(|record| {
                record.info.state == RunState::Succeeded
                    && record.calls.len() == 1
                    && record.info.events == 2
            });
            if !is_whole {
                return Err(broken(format!("{run} is not whole: {record:?}")));
            }
        }
        let (runs, _) = history
            .list(&RunFilter {
                access: ALL,
                limit: 50,
            })
            .unwrap();
        if let Some(run) = runs.iter().find(|run| run.state == RunState::Running) {
            return Err(broken(format!("{} has no end", run.run)));
        }
        match history.problem() {
            Some(problem) => Err(broken(problem)),
            None => Ok(()),
        }
    }
}

fn lines_of(out: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The life of the other process. Each line is printed after what it announces, or before it for `leaving`.
async fn live(database: PathBuf) {
    let mut out = io::stdout();
    let history = History::open(Some(database), true);
    let held = history.read_held().unwrap();
    let first = history.last_number() + 1;
    writeln!(out, "ready").unwrap();
    let surplus = held.len().saturating_sub(MAX_HELD_RUNS);
    for run in held.into_iter().take(surplus) {
        use_up(&history, &run.owner, &mut out).await;
    }
    let mut ended = Vec::new();
    for number in first.. {
        let id = format!("{}-{number}", std::process::id());
        let source = format!("return {number} // {}", "x".repeat(3000));
        let run = begin_run(&history, &id, &source, "small");
        call(
            &run,
            "s.read",
            r#"{"path":"a"}"#,
            &Ok(format!("\"{}\"", "y".repeat(2500))),
        );
        if number % 3 == 0 {
            let target = CallTarget::Path {
                path: "s.write".into(),
                raw: false,
            };
            let BegunCall::New(index) = run.begin_call(&target, &"{}".into()) else {
                panic!("the call is new");
            };
            run.set_asked(index, true);
            let owner = HeldOwner {
                name: id.clone(),
                origin: run.origin().clone(),
                run: Some(run),
                replaces: None,
            };
            let approval = HeldApproval {
                number,
                subject: "{}".into(),
                answer: None,
            };
            history
                .save_held(owner, || vec![approval], true)
                .await
                .unwrap();
            writeln!(out, "held {id} 2").unwrap();
            if number % 2 == 0 {
                use_up(&history, &id, &mut out).await;
            }
            continue;
        }
        end(&run);
        ended.push(id);
        if number % 5 == 0 {
            history.flush().await;
            for id in ended.drain(..) {
                writeln!(out, "written {id}").unwrap();
            }
        }
    }
}

async fn use_up(history: &History, run: &str, out: &mut io::Stdout) {
    writeln!(out, "leaving {run}").unwrap();
    history
        .amend_held(run.to_owned(), Vec::new, || false)
        .await
        .unwrap();
    writeln!(out, "used {run}").unwrap();
}
