//! `--json` on every command prints exactly one document.

use mux_tests::TestEnv;
use serde_json::Value;

/// All commands, in an order in which each has something to print.
const ALL: &[&[&str]] = &[
    &["run", "-e", "return await mux.fix.pid()"],
    &["run", "-e", "throw new Error('x')"],
    &["run", "missing.ts"],
    &["run", "-e", "return 1", "--detach"],
    &["run", "-e", "return 1", "--save-parts", "parts"],
    &["run", "-e", "return 'x'.repeat(1e6)"],
    &[
        "program",
        "-e",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"fix.pid\"}]}",
    ],
    &["program", "-e", "{\"steps\": []}"],
    &[
        "program",
        "--explain",
        "-e",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"fix.pid\"}]}",
    ],
    &["program", "missing.json"],
    &["runs"],
    &["runs", "list"],
    &["runs", "show", "1"],
    &["runs", "watch", "1"],
    &["runs", "watch", "2"],
    &["runs", "cancel", "1"],
    &["runs", "show", "nope"],
    &["runs", "read", "nope"],
    &["check", "-e", "return 1"],
    &["check", "-e", "return ("],
    &["call", "fix.echo", "text=x"],
    &["call", "fix.nope"],
    &["call", "fix.echo", "text"],
    &["tools"],
    &["tools", "--schemas"],
    &["types"],
    &["servers"],
    &["servers", "list"],
    &["servers", "restart", "fix"],
    &["servers", "logs", "fix"],
    &["servers", "logs", "nope"],
    &["status"],
    &["doctor"],
    &["logs"],
    &["reload"],
    &["init"],
    &["init", "--dry-run"],
    &["import", "--undo"],
    &["completions", "bash"],
    &["restart"],
    &["stop"],
    &["stop"],
    &["status"],
    &["runs"],
    &["doctor"],
];

#[test]
fn commands_as_json_print_one_document_and_nothing_else() {
    let env = TestEnv::with_fixtures(&[("fix", &["--stderr-at-start", "1"])]);
    for args in ALL {
        // `--json` may come before the command or after it.
        let output = env.mux(args.iter().chain(&["--json"]));
        assert_eq!(output.stderr, "", "{args:?} {output:#?}");
        // Logs can be endless: there each line is a document.
        let text = if args.contains(&"logs") && output.code == 0 {
            output.stdout.lines().last().unwrap_or_default()
        } else {
            &output.stdout
        };
        let document: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{args:?}: {error} in {output:#?}"));
        assert!(
            document.is_object() || document.is_array(),
            "{args:?} {document}"
        );
        assert_eq!(
            document.get("ok") == Some(&Value::Bool(false)),
            output.code != 0 && document.get("running").is_none(),
            "{args:?} {output:#?}"
        );
    }
    let before = env.mux(["--json", "check", "-e", "return 1"]).ok();
    assert_eq!(
        before.stdout,
        env.mux(["check", "-e", "return 1", "--json"]).ok().stdout
    );
}
