//! Metrics: the Prometheus text, the port that serves it, and `mux top`.

mod port;
mod reader;
mod top;

use mux_tests::TestEnv;

use self::reader::Page;

fn page(env: &TestEnv) -> Page {
    Page::read(&env.mux(["metrics"]).ok().stdout)
}

#[test]
fn metrics_are_prometheus_text_and_match_the_activity() {
    let env = TestEnv::with_fixtures(&[("fix", &[]), ("gone", &["--exit-at-start", "9"])]);
    env.mux(["metrics"]).fails(3, &["no muxd is running"]);
    assert!(env.daemon().is_none(), "to ask starts none");
    env.result("return [await mux.fix.add({ a: 1, b: 2 }), await mux.fix.add({ a: 3, b: 4 })]");
    env.error("return mux.fix.fail({ message: 'no' })");
    env.error("throw new Error('mine')");
    env.error("return mux.gone.anything()");
    env.mux(["call", "fix.echo", "text=x"]).ok();
    env.mux(["call", "fix.nothing"]).fails(1, &["nothing"]);
    env.mux(["call", "nobody.nothing"]).fails(1, &["nobody"]);
    let page = page(&env);
    let server = |server: &str, outcome: &str| {
        page.value(
            "muxd_calls_total",
            &[("server", server), ("outcome", outcome)],
        )
    };
    assert_eq!(server("fix", "ok"), Some(3.0));
    assert_eq!(server("fix", "tool"), Some(1.0));
    assert_eq!(server("fix", "not_found"), Some(1.0));
    assert_eq!(server("gone", "unavailable"), Some(1.0));
    assert_eq!(server("(unknown)", "not_found"), Some(1.0));
    let tool = |tool: &str, outcome: &str| {
        let labels = [("server", "fix"), ("tool", tool), ("outcome", outcome)];
        page.value("muxd_tool_calls_total", &labels)
    };
    assert_eq!(
        (tool("add", "ok"), tool("add", "error")),
        (Some(2.0), Some(0.0))
    );
    assert_eq!(
        (tool("fail", "error"), tool("nothing", "error")),
        (Some(1.0), None)
    );
    let fix = [("server", "fix")];
    for (name, labels, value) in [
        ("muxd_runs_started_total", &[][..], 4.0),
        ("muxd_runs_total", &[("outcome", "ok")], 1.0),
        ("muxd_runs_total", &[("outcome", "runtime")], 1.0),
        ("muxd_runs_total", &[("outcome", "tool")], 1.0),
        ("muxd_runs_total", &[("outcome", "unavailable")], 1.0),
        ("muxd_runs_running", &[], 0.0),
        ("muxd_run_duration_seconds_count", &[], 4.0),
        ("muxd_worker_wait_seconds_count", &[], 4.0),
        ("muxd_call_duration_seconds_count", &fix, 4.0),
        ("muxd_calls_in_flight", &fix, 0.0),
        ("muxd_sessions_opened_total", &fix, 1.0),
        ("muxd_session_failures_total", &fix, 0.0),
        ("muxd_session_failures_total", &[("server", "gone")], 1.0),
        (
            "muxd_sessions",
            &[("server", "fix"), ("state", "ready")],
            1.0,
        ),
        (
            "muxd_sessions",
            &[("server", "gone"), ("state", "ready")],
            0.0,
        ),
        ("muxd_clients", &[], 1.0),
        ("muxd_approvals", &[("state", "held")], 0.0),
    ] {
        assert_eq!(
            page.value(name, labels),
            Some(value),
            "{name} {labels:?}\n{page}"
        );
    }
    for name in [
        "muxd_uptime_seconds",
        "muxd_workers_started_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
        "process_cpu_seconds_total",
    ] {
        assert!(
            page.value(name, &[]).is_some_and(|value| value > 0.0),
            "{name}\n{page}"
        );
    }
    if cfg!(target_os = "linux") {
        let memory = page.value("muxd_server_memory_bytes", &fix).unwrap();
        assert!(memory > f64::from(1 << 20), "{memory}");
    }
    let build = page.labels("muxd_build_info");
    assert_eq!(build["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(build["contract"], mux_proto::version::CONTRACT.to_string());

    let document = env.mux(["--json", "metrics"]).ok().json();
    let fix = &document["servers"]["fix"];
    assert_eq!(fix["calls"]["ok"], 3);
    assert_eq!(fix["tools"]["add"]["ok"], 2);
    assert_eq!(fix["call_seconds"]["count"], 4);
}

#[test]
fn unknown_tool_names_are_no_labels_and_excess_tools_share_one_label() {
    let env = TestEnv::with_fixtures(&[("few", &[]), ("fix", &["--tools", "700"])]);
    let invent = "const names = Array.from({ length: 1000 }, (_, i) => `${i % 2 ? 'few' : 'none' + i}.${mux.input}_${i}`);\n\
                  await Promise.all(names.map((name) => mux.call(name, {}).catch(() => {})));\nreturn 1";
    for round in 0..10 {
        let input = format!("\"round{round}\"");
        env.mux(["run", "-e", invent, "--input", &input]).ok();
    }
    let before = page(&env);
    let none = before.series("muxd_tool_calls_total");
    assert_eq!(none, 0, "{before}");
    let unknown = [("server", "(unknown)"), ("outcome", "not_found")];
    assert_eq!(before.value("muxd_calls_total", &unknown), Some(5_000.0));
    let few = [("server", "few"), ("outcome", "not_found")];
    assert_eq!(before.value("muxd_calls_total", &few), Some(5_000.0));
    // Names of existing tools become labels, up to a limit.
    env.mux(["tools", "--server", "fix", "--limit", "1"]).ok();
    env.result(
        "const tools = Object.keys(mux.fix).filter((name) => /_\\d{4}$/.test(name)).slice(0, 600);\n\
         await Promise.all(tools.map((tool) => mux.call(`fix.${tool}`, {}).catch(() => {})));\nreturn tools.length",
    );
    let after = page(&env);
    let series = after.series("muxd_tool_calls_total");
    assert!((200..=2 * 502).contains(&series), "{series}");
    let other = |outcome| {
        let labels = [("server", "fix"), ("tool", "(other)"), ("outcome", outcome)];
        after.value("muxd_tool_calls_total", &labels).unwrap()
    };
    assert_eq!((other("ok") + other("error")).to_string(), "100");
}

#[test]
fn labels_do_not_contain_project_paths() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let project = env.path("secret-project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join(".mux.toml"), env.fixture("own", &[])).unwrap();
    let here = |args: &[&str]| {
        let mut command = env.command("mux");
        mux_tests::env::output(command.current_dir(&project).args(args))
    };
    let shown = here(&["project", "show", "--json"]).ok().json();
    let digest = shown["digest"].as_str().unwrap();
    here(&["project", "approve", "--hash", digest]).ok();
    here(&["call", "own.add", "a=1", "b=2"]).ok();
    let page = page(&env);
    assert!(!page.to_string().contains("secret-project"), "{page}");
    assert!(page.to_string().contains("server=\"own@"), "{page}");
}
