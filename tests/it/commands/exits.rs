//! Exit codes, one for each kind of failure.

use mux_tests::TestEnv;
use nix::sys::signal::Signal;

use super::complains;

/// A command, the kind of its failure, and the exit code of that kind.
const TABLE: &[(&[&str], &str, i32)] = &[
    (&["run", "-e", "throw new Error('x')"], "runtime", 1),
    (
        &["run", "-e", "await mux.fix.fail({ message: 'x' })"],
        "tool",
        1,
    ),
    (&["run", "-e", "await mux.fix.add({})"], "validation", 1),
    (&["run", "-e", "await mux.fix.nope()"], "not_found", 1),
    (&["run", "-e", "await mux.nope.nope()"], "not_found", 1),
    (&["run", "-e", "await new Promise(() => {})"], "deadlock", 1),
    (&["run", "-e", "return 'x'.repeat(17e6)"], "limit", 1),
    (
        &[
            "run",
            "-e",
            "const a = []; for (;;) a.push(new Array(1e5).fill(0.5))",
        ],
        "memory",
        1,
    ),
    (&["run", "-e", "return ("], "syntax", 4),
    (&["check", "-e", "return ("], "syntax", 4),
    (
        &["run", "-e", "for (;;);", "--timeout", "1s"],
        "timeout",
        124,
    ),
    (&["run", "-e", "await mux.fix.side_effect({})"], "denied", 5),
    (&["run", "-e", "await mux.broken.echo()"], "unavailable", 3),
    (
        &["run", "-e", "await mux.fix.die_before()"],
        "unknown_outcome",
        6,
    ),
    (&["call", "fix.fail", "message=x"], "tool", 1),
    (&["call", "fix.add", "a=-1", "b=1"], "validation", 1),
    (&["call", "fix.nope"], "not_found", 1),
    (&["call", "fix"], "not_found", 1),
    (&["call", "fix.hang", "--timeout", "1s"], "timeout", 124),
    (&["call", "fix.side_effect"], "denied", 5),
    (&["call", "broken.echo", "text=x"], "unavailable", 3),
    (&["call", "fix.die_mid"], "unknown_outcome", 6),
    (&["tools", "--server", "nope"], "not_found", 1),
    (&["types", "nope"], "not_found", 1),
    (&["types", "fix.nope"], "not_found", 1),
    (&["types", "broken"], "unavailable", 3),
    (&["servers", "restart", "nope"], "not_found", 1),
    (&["servers", "restart", "broken"], "unavailable", 3),
    (&["servers", "logs", "nope"], "not_found", 1),
    (&["runs", "show", "nope"], "not_found", 1),
    (&["runs", "watch", "nope"], "not_found", 1),
    (&["runs", "cancel", "1", "nope"], "not_found", 1),
    (&["runs", "read", "nope"], "validation", 1),
    (
        &["runs", "read", "h_00000000000000000000000000000000"],
        "not_found",
        1,
    ),
];

#[test]
fn commands_exit_code_depends_on_the_error_kind() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[servers.broken]\ncommand = \"/no/such/program\"\n\
         [[policy]]\nmatch = \"fix.side_*\"\naction = \"deny\"\n",
        env.fixture("fix", &[]),
    ));
    for (args, kind, code) in TABLE {
        complains(env.mux(*args), *code, &[&format!("error[{kind}]: ")]);
        let output = env.mux(args.iter().chain(&["--json"]));
        assert_eq!(output.code, *code, "{args:?} {output:#?}");
        assert_eq!(output.stderr, "", "{args:?} {output:#?}");
        let document = output.json();
        assert_eq!(document["ok"], false, "{args:?} {document:#}");
        // A check may find several errors.
        let error = document.get("error").unwrap_or(&document["errors"][0]);
        assert_eq!(error["kind"], *kind, "{args:?} {document:#}");
    }
    // The daemon still works after all of these.
    env.run("return 1").ok();
    assert_eq!(
        env.mux(["status", "--json"]).ok().json()["runs"]["running"],
        0
    );
}

#[test]
fn commands_exit_130_when_interrupted_and_cancel_the_call_upstream() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for (name, json) in [("plain", &[][..]), ("json", &["--json"])] {
        let code = format!(
            "const hung = mux.fix.hang();\n\
             await mux.fix.barrier({{ name: '{name}', parties: 2 }});\nawait hung;"
        );
        let run = env.begin([&["run", "-e", &code], json].concat());
        // Returns when the program is at its barrier too, after it sent the call that hangs.
        env.mux(["call", "fix.barrier", &format!("name={name}"), "parties=2"])
            .ok();
        run.signal(Signal::SIGINT);
        let output = run.wait();
        assert_eq!(output.code, 130, "{output:#?}");
        if json.is_empty() {
            assert_eq!(output.stderr, "interrupted; the run was cancelled\n");
        } else {
            assert_eq!(output.json()["error"]["kind"], "cancelled", "{output:#?}");
        }
    }
    // Both hung calls are cancelled. Those at the barrier may have ended before.
    let code = "let cancelled;\n\
                do cancelled = await mux.fix.cancelled(); while (cancelled.length < 2);\n\
                return cancelled.length <= 4";
    assert_eq!(env.result(code), true);
}
