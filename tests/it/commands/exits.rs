//! Exit codes, one for each kind of failure.

use std::{io, process::Stdio};

use mux_tests::{CommandTranscript, TestEnv, mux_snapshot};
use nix::sys::signal::Signal;

/// A command of each kind of failure.
const FAILING: &[&[&str]] = &[
    &["run", "-e", "throw new Error('x')"],
    &["run", "-e", "await mux.fix.fail({ message: 'x' })"],
    &["run", "-e", "await mux.fix.add({})"],
    &["run", "-e", "await mux.fix.nope()"],
    &["run", "-e", "await mux.nope.nope()"],
    &["run", "-e", "await new Promise(() => {})"],
    &["run", "-e", "return 'x'.repeat(17e6)"],
    &[
        "run",
        "-e",
        "const a = []; for (;;) a.push(new Array(1e5).fill(0.5))",
    ],
    &["run", "-e", "return ("],
    &["check", "-e", "return ("],
    &["run", "-e", "for (;;);", "--timeout", "1s"],
    &["run", "-e", "await mux.fix.side_effect({})"],
    &["run", "-e", "await mux.broken.echo()"],
    &["run", "-e", "await mux.fix.die_before()"],
    &["call", "fix.fail", "message=x"],
    &["call", "fix.add", "a=-1", "b=1"],
    &["call", "fix.nope"],
    &["call", "fix"],
    &["call", "fix.hang", "--timeout", "1s"],
    &["call", "fix.side_effect"],
    &["call", "broken.echo", "text=x"],
    &["call", "fix.die_mid"],
    &["tools", "--server", "nope"],
    &["types", "nope"],
    &["types", "fix.nope"],
    &["types", "broken"],
    &["servers", "restart", "nope"],
    &["servers", "restart", "broken"],
    &["servers", "logs", "nope"],
    &["runs", "show", "nope"],
    &["runs", "watch", "nope"],
    &["runs", "cancel", "1", "nope"],
    &["runs", "read", "nope"],
    &["runs", "read", "h_00000000000000000000000000000000"],
];

#[test]
fn commands_exit_code_depends_on_the_error_kind() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[servers.broken]\ncommand = \"/no/such/program\"\n\
         [[policy]]\nmatch = \"fix.side_*\"\naction = \"deny\"\n",
        env.fixture("fix", &[]),
    ));
    let mut transcript = CommandTranscript::default();
    for args in FAILING {
        let text = env.mux(*args);
        transcript.add(format!("mux {}", args.join(" ")), &text);
        assert!(!text.stderr.contains('\u{1b}'), "{text:#?}");
        let output = env.mux(args.iter().chain(&["--json"]));
        assert_eq!(output.code, text.code, "{args:?} {output:#?}");
        assert_eq!(output.stderr, "", "{args:?} {output:#?}");
        let document = output.json();
        assert_eq!(document["ok"], false, "{args:?} {document:#}");
        // A check may find several errors.
        let error = document.get("error").unwrap_or(&document["errors"][0]);
        let shown = format!("error[{}]: ", error["kind"].as_str().unwrap());
        assert!(text.stderr.contains(&shown), "{args:?} {document:#}");
    }
    mux_snapshot!("exits", transcript);
    // The daemon still works after all of these.
    env.run("return 1").ok();
    assert_eq!(
        env.mux(["status", "--json"]).ok().json()["runs"]["running"],
        0
    );
}

#[test]
fn commands_exit_130_when_interrupted_and_cancel_the_call_upstream() {
    let env = TestEnv::new();
    let log = env.path("calls");
    env.write_config(&env.fixture("fix", &["--call-log", log.to_str().unwrap()]));
    for (number, json) in [&[][..], &["--json"]].into_iter().enumerate() {
        let run = env.begin([&["run", "-e", "await mux.fix.hang()"], json].concat());
        env.until_called(&log, "hang", number + 1, "fix.pid");
        run.signal(Signal::SIGINT);
        let output = run.wait();
        assert_eq!(output.code, 130, "{output:#?}");
        if json.is_empty() {
            mux_snapshot!(output, @"
            success: false
            exit_code: 130
            ----- stdout -----
            ----- stderr -----
            interrupted; the run was cancelled
            ");
        } else {
            assert_eq!(output.json()["error"]["kind"], "cancelled", "{output:#?}");
        }
    }
    // A program may make 1,000 calls, which is soon when the machine is busy elsewhere.
    let code = "let cancelled;\n\
                do {\n\
                  await new Promise((resolve) => setTimeout(resolve, 20));\n\
                  cancelled = await mux.fix.cancelled();\n\
                } while (cancelled.length < 2);\n\
                return cancelled.length";
    assert_eq!(env.result(code), 2);
}

/// As after `mux status | head -0`.
#[test]
fn closed_pipe_ends_a_command_without_an_error() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.run("await mux.fix.echo({ text: 'x' })").ok();
    for args in [
        &["status"][..],
        &["--json", "status"],
        &["servers"],
        &["tools"],
        &["types"],
        &["config", "show"],
        &["config", "schema"],
        &["help"],
        &["call", "fix.echo", "text=x"],
        &["run", "-e", "return 'x'.repeat(1e6)"],
        &["logs"],
        &["logs", "--follow"],
        &["audit", "--follow"],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = env.command("mux");
        command.args(args).stdin(Stdio::null()).stdout(writer);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        // Notes are also printed there.
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            !printed.contains("panicked") && !printed.contains("error"),
            "{args:?}: {printed}"
        );
    }
}
