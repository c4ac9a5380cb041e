use super::*;
use mux_wire::FaultKind;

fn metrics() -> Arc<Metrics> {
    Metrics::new("/nowhere/token".into())
}

fn by_outcome(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let counts = counts.iter();
    counts
        .map(|(kind, count)| ((*kind).to_owned(), *count))
        .collect()
}

#[test]
fn call_is_counted_once_however_it_ends() {
    let metrics = metrics();
    let server = metrics.server("fix");
    for kind in [None, None, Some(FaultKind::Timeout)] {
        let mut call = metrics.begin_call();
        call.at(&server);
        call.of_tool("add");
        call.sent();
        assert_eq!(metrics.of_servers()["fix"].in_flight, 1);
        call.ended(kind);
    }
    // A call whose caller no longer exists, and a call of an unknown server.
    let mut gone = metrics.begin_call();
    gone.at(&server);
    drop(gone);
    metrics.begin_call().ended(Some(FaultKind::NotFound));
    let servers = metrics.of_servers();
    let fix = &servers["fix"];
    let calls = [("ok", 2), ("timeout", 1), ("cancelled", 1)];
    assert_eq!(fix.calls, by_outcome(&calls));
    assert_eq!((fix.in_flight, fix.call_seconds.count), (0, 3));
    let add = &fix.tools["add"];
    assert_eq!((add.ok, add.error, add.seconds.count), (2, 1, 3));
    assert_eq!(servers["(unknown)"].calls["not_found"], 1);
}

#[test]
fn number_of_labels_is_bounded() {
    let metrics = metrics();
    let server = metrics.server("fix");
    let call_tool = |name: &str| {
        let mut call = metrics.begin_call();
        call.at(&server);
        call.of_tool(name);
        call.ended(None);
    };
    for number in 0..10_000 {
        call_tool(&format!("tool {number} \"\n\\"));
        metrics.server(&format!("server-{number}")).failed();
    }
    // A name longer than the limit is not counted separately.
    call_tool(&"x".repeat(500));
    let servers = metrics.of_servers();
    let tools = &servers["fix"].tools;
    assert_eq!((tools.len(), tools["(other)"].ok), (501, 9_501));
    assert_eq!(servers.len(), 258);
    assert_eq!(servers["(other)"].session_failures, 9_745);
}

#[test]
fn runs_and_checks_are_counted() {
    let metrics = metrics();
    metrics.runs.started();
    metrics.runs.waited(Duration::from_micros(300));
    let took = Duration::from_millis(20);
    metrics.runs.ended(Some(FaultKind::Runtime), took);
    metrics.count_check(Duration::from_millis(2));
    let RunCounts { runs, worker_wait } = metrics.runs.counts();
    assert_eq!(runs.started, 1);
    assert_eq!(runs.ended, by_outcome(&[("ok", 0), ("runtime", 1)]));
    assert_eq!((runs.seconds.count, metrics.checks().count), (1, 1));
    let waits = worker_wait.buckets.iter().map(|it| (it.most, it.count));
    let waits: Vec<_> = waits.collect();
    assert_eq!(waits[1..3], [(0.00025, 0), (0.0005, 1)]);
}
