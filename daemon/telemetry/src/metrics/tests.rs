use super::*;
use mux_wire::FaultKind;

fn metrics() -> Arc<Metrics> {
    Metrics::new("/nowhere/token".into())
}

fn text(metrics: &Metrics) -> String {
    metrics.text(MetricsSnapshot::default(), TextFormat::Prometheus)
}

/// The lines that begin with `begin`.
fn samples(text: &str, begin: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with(begin));
    lines.map(str::to_owned).collect()
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
        assert_eq!(server.in_flight.get(), 1);
        call.ended(kind);
    }
    // A call whose caller no longer exists, and a call of an unknown server.
    let mut gone = metrics.begin_call();
    gone.at(&server);
    drop(gone);
    metrics.begin_call().ended(Some(FaultKind::NotFound));
    let text = text(&metrics);
    for line in [
        "muxd_calls_total{server=\"fix\",outcome=\"ok\"} 2",
        "muxd_calls_total{server=\"fix\",outcome=\"timeout\"} 1",
        "muxd_calls_total{server=\"fix\",outcome=\"cancelled\"} 1",
        "muxd_calls_total{server=\"(unknown)\",outcome=\"not_found\"} 1",
        "muxd_calls_in_flight{server=\"fix\"} 0",
        "muxd_call_duration_seconds_count{server=\"fix\"} 3",
        "muxd_tool_calls_total{server=\"fix\",tool=\"add\",outcome=\"ok\"} 2",
        "muxd_tool_calls_total{server=\"fix\",tool=\"add\",outcome=\"error\"} 1",
        "# TYPE muxd_calls_total counter",
        "# TYPE muxd_call_duration_seconds histogram",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
}

#[test]
fn number_of_series_is_bounded() {
    let metrics = metrics();
    let server = metrics.server("fix");
    for number in 0..10_000 {
        let mut call = metrics.begin_call();
        call.at(&server);
        call.of_tool(&format!("tool {number} \"\n\\"));
        call.ended(None);
        metrics.server(&format!("server-{number}")).failed();
    }
    let text = text(&metrics);
    assert_eq!(samples(&text, "muxd_tool_calls_total").len(), 2 * 501);
    let other = "muxd_tool_calls_total{server=\"fix\",tool=\"(other)\",outcome=\"ok\"} 9500";
    assert_eq!(samples(&text, other), [other]);
    assert_eq!(samples(&text, "muxd_session_failures_total").len(), 257);
    let rest = "muxd_session_failures_total{server=\"(other)\"} 9745";
    assert_eq!(samples(&text, rest), [rest]);
    // Special characters in a name are escaped.
    assert!(text.contains("tool=\"tool 7 \\\"\\n\\\\\""), "{text}");
    // A name longer than the limit has no separate series.
    server.tool(&"x".repeat(500));
    assert_eq!(
        samples(&self::text(&metrics), "muxd_tool_calls_total").len(),
        2 * 501
    );
}

#[test]
fn snapshot_and_counters_are_in_one_text() {
    let metrics = metrics();
    metrics.runs.started();
    metrics.runs.waited(Duration::from_micros(300));
    metrics
        .runs
        .ended(Some(FaultKind::Runtime), Duration::from_millis(20));
    metrics.count_check(Duration::from_millis(2));
    let mut moment = MetricsSnapshot {
        build: vec![("version", "0.1.0".into())],
        clients: 2,
        workers: vec![("ready", 2), ("busy", 1)],
        checks: vec![("hit", 3), ("miss", 4)],
        ..MetricsSnapshot::default()
    };
    let mut server = ServerSnapshot::default();
    server.sessions.insert("ready", 1);
    server.memory_bytes = Some(1 << 20);
    moment.servers.insert("fix".into(), server);
    let text = metrics.text(moment.clone(), TextFormat::Prometheus);
    for line in [
        "muxd_build_info{version=\"0.1.0\"} 1",
        "muxd_clients 2",
        "muxd_workers{state=\"busy\"} 1",
        "muxd_checks_total{cache=\"miss\"} 4",
        "muxd_sessions{server=\"fix\",state=\"ready\"} 1",
        "muxd_server_memory_bytes{server=\"fix\"} 1048576",
        "muxd_runs_started_total 1",
        "muxd_runs_total{outcome=\"ok\"} 0",
        "muxd_runs_total{outcome=\"runtime\"} 1",
        "muxd_run_duration_seconds_count 1",
        "muxd_worker_wait_seconds_bucket{le=\"0.0005\"} 1",
        "muxd_check_duration_seconds_count 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert!(!text.contains("# EOF") && text.ends_with('\n'));
    let open = metrics.text(moment, TextFormat::OpenMetrics);
    assert!(
        open.ends_with("# EOF\n") && open.contains("# TYPE muxd_checks counter"),
        "{open}"
    );
    let count = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(count(&text), count(&open));
}
