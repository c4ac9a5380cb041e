//! `mux top`, printed once and on a terminal.

use mux_tests::{TerminalStreams, TestEnv, TestTerminal};
use nix::sys::{signal::Signal, termios::LocalFlags};
use serde_json::json;

const COLUMNS: u16 = 120;

fn start_top(env: &TestEnv) -> TestTerminal {
    let mut command = env.command("mux");
    TestTerminal::start_with(command.arg("top"), TerminalStreams::All, COLUMNS)
}

/// Returns true if line editing, echo and signals of the terminal are enabled.
fn is_as_before(terminal: &TestTerminal) -> bool {
    terminal.has_modes(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
}

/// Waits for the end, checks that the terminal is restored, and returns the exit code.
#[track_caller]
fn end(mut top: TestTerminal) -> Option<i32> {
    let code = top.exit_code();
    let screen = top.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor());
    assert!(is_as_before(&top));
    code
}

fn busy() -> (TestEnv, String) {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return mux.fix.add({ a: 1, b: 2 })");
    let code = "console.log('under way'); await mux.fix.sleep({ ms: 100000 })";
    let started = env
        .mux(["run", "--detach", "--timeout", "2m", "-e", code])
        .ok();
    (env, started.stdout.trim().to_owned())
}

#[test]
fn top_prints_current_figures_once() {
    let env = TestEnv::new();
    env.mux(["top"]).fails(3, &["no muxd is running"]);
    let (env, run) = busy();
    // Wait until its call is in flight.
    let figures = loop {
        let figures = env.mux(["top", "--json"]).ok().json();
        if figures["servers"][0]["in_flight"] == 1 {
            break figures;
        }
    };
    let server = &figures["servers"][0];
    assert_eq!(
        (&server["name"], &server["state"]),
        (&json!("fix"), &json!("ready"))
    );
    assert_eq!(
        (&server["calls"], &server["sessions"]),
        (&json!(1), &json!(1))
    );
    assert!(server["p99_seconds"].as_f64().unwrap() > 0.0, "{figures}");
    assert_eq!(figures["running"][0]["run"], run);
    assert_eq!(figures["runs"]["succeeded"], 1);
    assert!(
        figures["memory_bytes"].as_u64().unwrap() > 1 << 20,
        "{figures}"
    );
    assert_eq!(figures["pid"], env.daemon().unwrap());

    let plain = env.mux(["top", "--once"]).ok();
    for part in ["muxd ", "runs 1 running", "SERVER", "fix ", "console.log"] {
        assert!(plain.stdout.contains(part), "{part:?} in {plain:#?}");
    }
    assert!(
        !plain.stdout.contains('\u{1b}') && plain.stderr.is_empty(),
        "{plain:#?}"
    );
}

#[test]
fn top_runs_on_a_terminal_and_restores_it() {
    let (env, run) = busy();
    let mut top = start_top(&env);
    top.wait_for_on_screen("console.log");
    assert!(top.screen().alternate_screen() && !is_as_before(&top));
    top.wait_for_on_screen("SERVER");
    // Without a selection no run is stopped.
    top.press("x");
    top.wait_for_on_screen("arrows");
    let question = format!("stop run {}?", run.rsplit('-').next().unwrap());
    top.press("jx");
    top.wait_for_on_screen(&question);
    top.press("n");
    top.wait_until("no question", |screen| {
        !screen.contents().contains(&question)
    });
    top.press("x");
    top.wait_for_on_screen(&question);
    top.press("y");
    top.wait_for_on_screen("being stopped");
    env.mux(["runs", "watch", &run]).fails(130, &["cancelled"]);
    top.wait_until("no run", |screen| {
        !screen.contents().contains("console.log")
    });
    top.press("q");
    assert_eq!(end(top), Some(0));
}

#[test]
fn top_restores_the_terminal_on_signals_and_survives_the_daemon() {
    let (env, _) = busy();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let mut top = start_top(&env);
        top.wait_for_on_screen("console.log");
        top.signal(signal);
        assert_eq!(end(top), Some(code));
    }
    let mut top = start_top(&env);
    top.wait_for_on_screen("console.log");
    env.stop();
    top.wait_for_on_screen("no muxd is running");
    env.result("return 1");
    top.wait_for_on_screen(&format!("pid {}", env.daemon().unwrap()));
    // Ctrl-C, which is read as a key in raw mode.
    top.press("\u{3}");
    assert_eq!(end(top), Some(130));
}
