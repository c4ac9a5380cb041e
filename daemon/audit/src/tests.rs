//! Tests of the whole crate, from calls and decisions to lines.

use std::{fs, path::Path};

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::*;
use mux_caller::CallCause;

const PATIENCE: Duration = Duration::from_secs(30);

fn caller(run: &str) -> Arc<Caller> {
    Arc::new(Caller {
        cause: CallCause::Run(run.into()),
        origin: Arc::new(by("agent")),
        ..Caller::default()
    })
}

fn by(client: &str) -> ClientOrigin {
    ClientOrigin {
        client: client.into(),
        agent: Some("small".into()),
        workspace: Some("/work".into()),
        pid: Some(7),
        uid: Some(1000),
        for_agent: false,
    }
}

fn lines(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder).unwrap().flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let text = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let text: String = text.collect();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn calls_become_lines_with_caller_path_and_outcome() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    let audit = AuditLog::open(folder.clone());
    let caller = caller("f-3");
    let text = |text: &str| -> Arc<str> { text.into() };

    let mut entry = audit.begin_call("gh.list", Some(&text(r#"{"a":1,"b":"canary"}"#)), &caller);
    entry.set_path("github.list");
    entry.set_decision("allow", "github.*");
    entry.set_call_number(2);
    entry.finish(Ok(12));
    let mut entry = audit.begin_call("github.list", None, &caller);
    entry.set_arguments(|| r#"{ "b": "canary", "a": 1.0 }"#.into());
    entry.set_decision("deny", "github.list");
    entry.finish(Err(&Fault::new(FaultKind::Denied, "no")));
    drop(audit.begin_call("github.slow", Some(&text("{}")), &caller));
    audit.record_admin_event(AdminEvent::SecretSet, "TOKEN", &by("mux"));
    audit.flush(PATIENCE).await;

    let lines = lines(&folder);
    assert_eq!(lines.len(), 4);
    let first = &lines[0];
    for (key, value) in [
        ("kind", "call"),
        ("path", "github.list"),
        ("client", "agent"),
        ("agent", "small"),
        ("workspace", "/work"),
        ("run", "f-3"),
        ("decision", "allow"),
        ("by", "github.*"),
        ("outcome", "ok"),
    ] {
        assert_eq!(first[key], value, "{first}");
    }
    let numbers = ["pid", "uid", "call", "bytes"].map(|key| first[key].as_u64().unwrap());
    assert_eq!(numbers, [7, 1000, 2, 12]);
    assert!(
        first["ms"].is_number() && humantime::parse_rfc3339(first["at"].as_str().unwrap()).is_ok()
    );
    assert_eq!(first["arguments"], lines[1]["arguments"], "the same values");
    assert_ne!(first["arguments"], lines[2]["arguments"]);
    assert_eq!(
        (&lines[1]["decision"], &lines[1]["outcome"]),
        (&"deny".into(), &"denied".into())
    );
    assert_eq!(
        lines[2]["outcome"], "cancelled",
        "nobody waited for its end"
    );
    assert_eq!(
        (&lines[3]["kind"], &lines[3]["subject"]),
        (&"secret_set".into(), &"TOKEN".into())
    );
    assert!(!format!("{lines:?}").contains("canary"));
    assert_eq!(audit.problem(), None);

    // Another home has another key.
    let elsewhere = AuditLog::open(home.path().join("other"));
    let same = elsewhere.begin_call(
        "github.list",
        Some(&text(r#"{"a":1,"b":"canary"}"#)),
        &caller,
    );
    same.finish(Ok(0));
    elsewhere.flush(PATIENCE).await;
    let other = self::lines(&home.path().join("other"));
    assert_ne!(other[0]["arguments"], first["arguments"]);
    // The key is the same after a restart.
    let again = AuditLog::open(folder.clone());
    let same = again.begin_call(
        "github.list",
        Some(&text(r#"{"a":1,"b":"canary"}"#)),
        &caller,
    );
    same.finish(Ok(0));
    again.flush(PATIENCE).await;
    assert_eq!(self::lines(&folder)[4]["arguments"], first["arguments"]);
}

#[tokio::test]
async fn lines_that_cannot_be_written_are_counted_and_reported() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    fs::write(&folder, "in the way").unwrap();
    let audit = AuditLog::open(folder.clone());
    for _ in 0..3 {
        audit.record_admin_event(AdminEvent::Login, "docs", &by("mux"));
    }
    audit.flush(PATIENCE).await;
    let problem = audit.problem().unwrap();
    assert!(
        problem.starts_with("3 lines") && problem.contains("cannot be written"),
        "{problem}"
    );
    fs::remove_file(&folder).unwrap();
    audit.record_admin_event(AdminEvent::Logout, "docs", &by("mux"));
    audit.flush(PATIENCE).await;
    let kinds: Vec<Value> = lines(&folder)
        .iter()
        .map(|line| line["kind"].clone())
        .collect();
    assert_eq!(kinds, ["lines_lost", "logout"]);
    assert_eq!(lines(&folder)[0]["subject"], "3");
    let problem = audit.problem().unwrap();
    assert!(problem.contains("it is written again"), "{problem}");
}

#[test]
fn full_queue_drops_records_without_blocking() {
    let (queue, records) = mpsc::sync_channel(1);
    let audit = Arc::new(AuditLog {
        queue,
        enabled: AtomicBool::new(true),
        shared: Arc::default(),
    });
    let arguments: Arc<str> = "[]".into();
    for _ in 0..3 {
        audit
            .begin_call("a.b", Some(&arguments), &caller("1"))
            .finish(Ok(1));
    }
    assert!(audit.problem().unwrap().starts_with("2 lines"));
    assert_eq!(
        audit.shared.waiting.load(Ordering::Relaxed),
        2,
        "of the one that waits"
    );
    assert_eq!(records.try_iter().count(), 1);
    // Arguments over the limit are dropped.
    let long: Arc<str> = "x".repeat(MAX_QUEUED_ARGUMENT_BYTES).into();
    audit
        .begin_call("a.b", Some(&long), &caller("1"))
        .finish(Ok(1));
    let Ok(AuditRecord::Call(call)) = records.try_recv() else {
        panic!("it is written down all the same");
    };
    assert!(call.arguments.is_none());
}

#[tokio::test]
async fn lost_lines_are_reported_without_a_following_record() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    let (queue, records) = mpsc::sync_channel(1);
    let shared = Arc::new(AuditShared::default());
    let audit = Arc::new(AuditLog {
        queue,
        enabled: AtomicBool::new(true),
        shared: Arc::clone(&shared),
    });
    for _ in 0..3 {
        audit.begin_call("a.b", None, &caller("1")).finish(Ok(1));
    }
    let writer = AuditWriter::new(folder.clone(), shared);
    thread::spawn(move || writer.write_until_closed(&records));
    // The first flush makes room in the queue for the second.
    audit.flush(PATIENCE).await;
    audit.flush(PATIENCE).await;
    let records: Vec<(Value, Value)> = lines(&folder)
        .iter()
        .map(|line| (line["kind"].clone(), line["subject"].clone()))
        .collect();
    let lost: Vec<_> = records
        .iter()
        .filter(|(kind, _)| kind == "lines_lost")
        .collect();
    assert_eq!(lost.len(), 1, "{records:?}");
    assert_eq!((lost[0].1.as_str(), records.len()), (Some("2"), 2));
}

#[test]
fn lines_are_synced_under_constant_load() {
    let home = tempfile::tempdir().unwrap();
    let audit = AuditLog::open(home.path().join("audit"));
    let began = std::time::Instant::now();
    while audit.shared.synced.load(Ordering::Relaxed) == 0 {
        audit.record_admin_event(AdminEvent::Login, "docs", &by("mux"));
        assert!(began.elapsed() < PATIENCE, "nothing was synced");
        thread::yield_now();
    }
}

#[tokio::test]
async fn call_lists_the_paths_that_it_reaches() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    let audit = AuditLog::open(folder.clone());
    let mut entry = audit.begin_call("api.graphql", None, &caller("1"));
    entry.set_reached(&["api.query.a".into(), "api.mutation.b".into()]);
    entry.finish(Ok(1));
    let mut entry = audit.begin_call("api.graphql", None, &caller("1"));
    let many: Vec<String> = (0..1_000).map(|n| format!("api.query.f{n}")).collect();
    entry.set_reached(&many);
    entry.finish(Ok(1));
    audit.begin_call("api.x", None, &caller("1")).finish(Ok(1));
    audit.flush(PATIENCE).await;
    let lines = lines(&folder);
    let both = serde_json::json!(["api.query.a", "api.mutation.b"]);
    assert_eq!(lines[0]["reaches"], both);
    let cut = lines[1]["reaches"].as_array().unwrap();
    assert!(
        cut.len() < 500 && cut.last().unwrap() == "…",
        "{}",
        cut.len()
    );
    assert!(lines[2].get("reaches").is_none());
}

#[tokio::test]
async fn nothing_is_written_while_disabled() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("audit");
    let audit = AuditLog::open(folder.clone());
    audit.set_retention(false, AuditRetention::default());
    audit.begin_call("a.b", None, &caller("1")).finish(Ok(1));
    audit.record_admin_event(AdminEvent::Login, "docs", &by("mux"));
    audit.flush(PATIENCE).await;
    assert!(!folder.exists());
}
