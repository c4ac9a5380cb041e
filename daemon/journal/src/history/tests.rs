use std::{fs, path::Path};

use mux_caller::{ClientOrigin, RunAccess};
use mux_messages::{EventKind, JsonText, Level, Outcome, RunState};
use mux_wire::{CallTarget, Fault, FaultKind};

use super::*;
use crate::{call_log::BegunCall, program::Program, run_journal::JournalOptions};

pub(super) const ALL: RunAccess = RunAccess::Everyone;

fn database(home: &tempfile::TempDir) -> PathBuf {
    home.path().join("state").join("history.db")
}

fn open(home: &tempfile::TempDir) -> History {
    History::open(Some(database(home)), true)
}

fn origin(agent: &str) -> Arc<ClientOrigin> {
    Arc::new(ClientOrigin::new("claude-code", Some(agent), None))
}

pub(super) fn begin_run(history: &History, id: &str, source: &str, agent: &str) -> Arc<RunJournal> {
    let program = Program {
        source: source.into(),
        title: source.lines().next().unwrap_or_default().into(),
        input: r#"{"password":"hunter22"}"#.into(),
        origin: origin(agent),
        ..Program::default()
    };
    let options = JournalOptions {
        max_call_bytes: 1 << 20,
        ..JournalOptions::default()
    };
    let run = RunJournal::new(id.into(), program, options);
    run.write_to(history.feed());
    run.push(EventKind::Started {});
    run
}

pub(super) fn call(run: &RunJournal, tool: &str, arguments: &str, outcome: &Result<String, Fault>) {
    let target = CallTarget::Path {
        path: tool.into(),
        raw: false,
    };
    let BegunCall::New(index) = run.begin_call(&target, &arguments.into()) else {
        panic!("{tool} is new");
    };
    run.number_call(index, 1);
    run.end_call(index, outcome);
}

pub(super) fn end(run: &RunJournal) {
    let outcome = Outcome::Result(JsonText::from(serde_json::json!(1)));
    run.push(EventKind::Ended { outcome });
}

fn listed(history: &History, access: &RunAccess) -> Vec<String> {
    let filter = RunFilter {
        access: access.clone(),
        limit: 100,
    };
    let (runs, total) = history.list(&filter).unwrap();
    assert_eq!(runs.len(), total);
    runs.into_iter().map(|info| info.run).collect()
}

fn status(history: &History) -> HistoryStatus {
    history.shared.status.lock().clone()
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn run_of_an_earlier_daemon_is_shown_with_program_calls_and_events() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    let run = begin_run(&history, "a-7", "return 1", "small");
    let long = format!("\"{}\"", "x".repeat(10_000));
    call(&run, "s.read", r#"{"path":"a"}"#, &Ok(long.clone()));
    // Some of it is written before the rest happens.
    history.flush().await;
    let denied = Fault::new(FaultKind::Denied, "no");
    call(&run, "s.write", r#"{"as":"hunter22"}"#, &Err(denied));
    run.push(EventKind::Console {
        level: Level::Log,
        text: "said hunter22".into(),
    });
    end(&run);
    history.flush().await;
    drop(history);

    let history = open(&home);
    assert_eq!(history.last_number(), 7);
    for id in ["a-7", "7"] {
        let record = history.record(id, &ALL).unwrap().unwrap();
        assert_eq!(record.info.state, RunState::Succeeded);
        assert_eq!(&*record.program.source, "return 1");
        assert_eq!(&*record.program.input, r#"{"password":"***"}"#);
        let [read, write] = &record.calls[..] else {
            panic!("{:#?}", record.calls);
        };
        assert_eq!((read.tool.as_str(), read.number), ("s.read", Some(1)));
        assert_eq!(read.outcome, Some(Ok(Ok(long.clone()))));
        assert_eq!(write.arguments.as_deref(), Ok(r#"{"as":"***"}"#));
        let Some(Err(fault)) = &write.outcome else {
            panic!("{write:#?}");
        };
        assert_eq!(fault.kind, FaultKind::Denied);
    }
    let events = history.events("a-7", &ALL, 0, 1 << 20).unwrap().unwrap();
    let shown = format!("{events:?}");
    assert!(
        shown.contains("said ***") && !shown.contains("hunter22"),
        "{shown}"
    );
    assert_eq!(events.len(), 3);
    let rest = history.events("a-7", &ALL, 2, 1 << 20).unwrap().unwrap();
    assert_eq!(rest.len(), 1);
    let bytes = fs::read(database(&home)).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("hunter22"), "a secret is on disk");
}

#[tokio::test]
async fn secret_that_a_result_announces_is_masked_in_the_events() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    let run = begin_run(&history, "a-1", "return 1", "small");
    let result = serde_json::json!({ "password": "open sesame" });
    run.push(EventKind::Ended {
        outcome: Outcome::Result(result.into()),
    });
    history.flush().await;
    let events = history.events("a-1", &ALL, 0, 1 << 20).unwrap().unwrap();
    let shown = format!("{events:?}");
    assert!(
        shown.contains("***") && !shown.contains("sesame"),
        "{shown}"
    );
}

#[tokio::test]
async fn client_reads_its_own_runs_only() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    for (id, agent) in [("a-1", "small"), ("b-2", "big")] {
        end(&begin_run(&history, id, "return 1", agent));
    }
    history.flush().await;
    assert_eq!(listed(&history, &ALL).len(), 2);
    let access = RunAccess::Own(origin("small"));
    assert_eq!(listed(&history, &access), ["a-1"]);
    assert!(history.record("a-1", &access).unwrap().is_some());
    for id in ["b-2", "2", "1"] {
        assert!(history.record(id, &access).unwrap().is_none(), "{id}");
        assert!(history.find(id, &access).unwrap().is_none(), "{id}");
        let events = history.events(id, &access, 0, 1 << 20);
        assert!(events.unwrap().is_none(), "{id}");
    }
}

#[tokio::test]
async fn run_whose_daemon_died_has_an_unknown_outcome() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    let run = begin_run(&history, "a-1", "return 1", "small");
    history.flush().await;
    drop((run, history));
    // A successor leaves the runs of its predecessor alone.
    let beside = History::open(Some(database(&home)), false);
    let found = beside.find("a-1", &ALL).unwrap().unwrap();
    assert_eq!(found.state, RunState::Running);
    drop(beside);
    let history = open(&home);
    assert_eq!(history.last_number(), 1);
    let found = history.find("a-1", &ALL).unwrap().unwrap();
    assert_eq!(found.error.unwrap().kind, FaultKind::UnknownOutcome);
    let events = history.events("a-1", &ALL, 1, 1 << 20).unwrap().unwrap();
    let [end] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(matches!(end.event, EventKind::Ended { .. }), "{end:?}");
    let after = history.events("a-1", &ALL, 2, 1 << 20).unwrap().unwrap();
    assert!(after.is_empty());
}

#[tokio::test]
async fn database_that_cannot_be_used_is_set_aside_and_begun_anew() {
    let before = tempfile::tempdir().unwrap();
    let history = open(&before);
    end(&begin_run(&history, "a-1", "return 1", "small"));
    history.flush().await;
    execute(&database(&before), "PRAGMA wal_checkpoint(TRUNCATE)");
    for (damage, reason) in [
        ("rubbish", "not a database"),
        ("version", "newer muxd (version 99)"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = database(&home);
        fs::create_dir(path.parent().unwrap()).unwrap();
        if damage == "rubbish" {
            fs::write(&path, "rubbish".repeat(1_000)).unwrap();
        } else {
            fs::copy(database(&before), &path).unwrap();
            execute(&path, "PRAGMA user_version = 99");
        }
        let history = open(&home);
        history.flush().await;
        let problem = history.problem().unwrap();
        assert!(problem.contains(reason), "{damage}: {problem}");
        assert!(listed(&history, &ALL).is_empty());
        end(&begin_run(&history, "a-2", "return 1", "small"));
        history.flush().await;
        assert_eq!(listed(&history, &ALL), ["a-2"]);
        let files = fs::read_dir(path.parent().unwrap()).unwrap().flatten();
        let aside = files.filter(|file| {
            let name = file.file_name();
            name.to_string_lossy().contains("db.set-aside")
        });
        assert!(aside.count() >= 1, "{damage}");
    }
}

#[tokio::test]
async fn damage_that_is_found_by_a_write_costs_that_write() {
    let before = tempfile::tempdir().unwrap();
    let history = open(&before);
    end(&begin_run(&history, "a-1", "return 1", "small"));
    history.flush().await;
    execute(&database(&before), "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = fs::read(database(&before)).unwrap();
    // The first page has the version and the names of the tables.
    bytes[4096..].fill(7);
    for is_alone in [true, false] {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("state")).unwrap();
        fs::write(database(&home), &bytes).unwrap();
        let history = History::open(Some(database(&home)), is_alone);
        for number in 2..4 {
            end(&begin_run(
                &history,
                &format!("a-{number}"),
                "return 1",
                "small",
            ));
            history.flush().await;
        }
        let problem = history.problem().unwrap();
        assert!(problem.contains("set-aside"), "{is_alone}: {problem}");
        // A daemon that starts alone writes at once, and finds it before it has anything to lose.
        assert_eq!(status(&history).incomplete_runs, u64::from(!is_alone));
        assert!(listed(&history, &ALL).contains(&"a-3".to_owned()));
    }
}

#[tokio::test]
async fn full_database_costs_runs_that_are_counted_until_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    let set_room = async |pages: i64| {
        let set = history.write(move |store| {
            store.retry_at = Some(Instant::now());
            let connection = store.connection()?;
            let count: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            connection.pragma_update_and_check(
                None,
                "max_page_count",
                count + pages,
                |_| Ok(()),
            )?;
            Ok(())
        });
        set.await.unwrap();
    };
    set_room(1).await;
    let run = begin_run(&history, "a-1", &"x".repeat(100_000), "small");
    call(
        &run,
        "s.login",
        r#"{"token":"t0k3n-of-mine"}"#,
        &Ok("1".into()),
    );
    history.flush().await;
    assert!(listed(&history, &ALL).is_empty());
    let problem = history.problem().unwrap();
    assert!(
        problem.contains("full") && problem.contains("one run"),
        "{problem}"
    );

    set_room(1_000).await;
    // The lost row announced this secret.
    run.push(EventKind::Console {
        level: Level::Log,
        text: "said t0k3n-of-mine".into(),
    });
    end(&run);
    history.flush().await;
    let events = history.events("a-1", &ALL, 0, 1 << 20).unwrap().unwrap();
    let shown = format!("{events:?}");
    assert!(shown.contains("said ***"), "{shown}");
    let problem = history.problem().unwrap();
    assert_eq!(problem, "one run since the start is incomplete");
}

#[cfg(unix)]
#[tokio::test]
async fn directory_that_is_not_writable_costs_the_history() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("state");
    fs::write(&folder, "a file in its place").unwrap();
    let history = open(&home);
    end(&begin_run(&history, "a-1", "return 1", "small"));
    history.flush().await;
    let status = status(&history);
    assert!(
        status.failure.is_some() && status.incomplete_runs == 1,
        "{status:?}"
    );
    assert_eq!(history.last_number(), 0);
    assert!(history.read_held().is_err());
}

#[tokio::test]
async fn values_of_excluded_servers_and_agents_are_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    history.set_server_rules(|| ServerRules {
        bare_servers: ["vault".to_owned()].into(),
        ..ServerRules::default()
    });
    history.set_limits(HistoryLimits {
        bare_agents: ["private".to_owned()].into(),
        ..HistoryLimits::default()
    });
    let run = begin_run(&history, "a-1", "return 1", "small");
    call(
        &run,
        "vault.read",
        r#"{"q":"plain-a"}"#,
        &Ok("\"plain-b\"".into()),
    );
    call(&run, "s.read", r#"{"q":"kept"}"#, &Ok("1".into()));
    end(&run);
    let other = begin_run(&history, "a-2", "return 1", "private");
    call(&other, "s.read", r#"{"q":"plain-c"}"#, &Ok("2".into()));
    other.push(EventKind::Console {
        level: Level::Log,
        text: "plain-d".into(),
    });
    end(&other);
    history.flush().await;
    let record = history.record("a-1", &ALL).unwrap().unwrap();
    assert_eq!(record.calls[0].arguments, Err(15));
    assert_eq!(record.calls[0].outcome, Some(Ok(Err(9))));
    assert_eq!(record.calls[1].arguments.as_deref(), Ok(r#"{"q":"kept"}"#));
    let record = history.record("a-2", &ALL).unwrap().unwrap();
    assert_eq!(record.calls[0].arguments, Err(15));
    assert_eq!(&*record.program.input, "null");
    drop(history);
    let bytes = fs::read(database(&home)).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("plain-"));
}

#[tokio::test]
async fn nothing_is_kept_for_zero_time() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    history.set_limits(HistoryLimits {
        keep: Duration::ZERO,
        ..HistoryLimits::default()
    });
    end(&begin_run(&history, "a-1", "return 1", "small"));
    history.flush().await;
    assert!(listed(&history, &ALL).is_empty());
    assert_eq!(history.problem(), None);
}

#[tokio::test]
async fn old_runs_are_removed_and_their_texts_with_them() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    for number in 1..=20 {
        let source = format!("return {number} // {}", "x".repeat(20_000));
        end(&begin_run(
            &history,
            &format!("a-{number}"),
            &source,
            "small",
        ));
    }
    // Two runs share their program.
    end(&begin_run(&history, "a-21", "return 0", "small"));
    end(&begin_run(&history, "a-22", "return 0", "small"));
    history.flush().await;
    execute(
        &database(&home),
        "UPDATE runs SET accepted_ms = 0 WHERE number <= 10 OR number = 21",
    );
    let remove = || {
        history.write(|store| {
            store.remove_old();
            Ok(())
        })
    };
    remove().await.unwrap();
    assert_eq!(listed(&history, &ALL).len(), 11);
    let kept = history.record("22", &ALL).unwrap().unwrap();
    assert_eq!(&*kept.program.source, "return 0");
    let texts = |history: &History| {
        let count = |connection: &Connection| {
            Ok(connection
                .query_row("SELECT count(*) FROM texts", [], |row| row.get::<_, i64>(0))?)
        };
        history.read(0, count).unwrap()
    };
    // Ten programs, the shared one, and the input of all.
    assert_eq!(texts(&history), 12);
    history.set_limits(HistoryLimits {
        size: 1,
        ..HistoryLimits::default()
    });
    remove().await.unwrap();
    assert_eq!((listed(&history, &ALL).len(), texts(&history)), (0, 0));
}

#[tokio::test]
async fn clock_that_jumps_removes_no_runs() {
    let home = tempfile::tempdir().unwrap();
    let history = open(&home);
    end(&begin_run(&history, "a-1", "return 1", "small"));
    history.flush().await;
    execute(&database(&home), "UPDATE runs SET accepted_ms = 0");
    let remove = |jump: Duration| {
        history.write(move |store| {
            store.last_removal.1 -= jump;
            store.remove_old();
            Ok(())
        })
    };
    remove(Duration::from_hours(2)).await.unwrap();
    assert_eq!(listed(&history, &ALL).len(), 1);
    remove(Duration::ZERO).await.unwrap();
    assert_eq!(listed(&history, &ALL).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_write_at_the_same_time() {
    let home = tempfile::tempdir().unwrap();
    let old = open(&home);
    let new = History::open(Some(database(&home)), false);
    for number in 0..30 {
        let history = if number % 2 == 0 { &old } else { &new };
        end(&begin_run(
            history,
            &format!("a-{number}"),
            "return 1",
            "small",
        ));
        let ((), ()) = tokio::join!(old.flush(), new.flush());
    }
    assert_eq!(listed(&old, &ALL).len(), 30);
    assert_eq!(old.problem(), None);
    assert_eq!(new.problem(), None);
}
