//! Programs are checked before they run, as strictly as the configuration says.

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::CheckRequest;
use mux_tests::{
    TestEnv, TestTerminal,
    env::{binary, compiler},
};
use serde_json::Value;

/// A home with a checker, a fixture server whose tools are known, and `more`, which continues its `[check]` table.
fn home(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}\n[check]\ntsc = {:?}\n{more}",
        env.fixture("fix", &[]),
        compiler()
    ));
    env.mux(["tools"]).ok();
    env
}

#[test]
fn types_of_a_program_are_checked_before_any_of_it_runs() {
    let env = home("");
    let file = env.path("out.txt");
    let write = format!("await mux.fix.side_effect({{ file: {file:?}, line: 'x' }});");
    let code = format!("{write}\nawait mux.fix.add({{ a: 1, c: 2 }});\nmux.fix.ad({{}});");
    let output = env.mux(["run", "-e", &code]);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(!file.exists(), "it ran");
    for part in [
        "error[type]:",
        "program:2:",
        "2 | await mux.fix.add({ a: 1, c: 2 });",
        "'c' does not exist",
        "fix.add(args: { a: number; b: number })",
        "line 3:",
    ] {
        assert!(output.stderr.contains(part), "no {part:?}: {output:#?}");
    }
    let error = env.error(&code);
    assert_eq!(
        (&error["kind"], &error["line"]),
        (&"type".into(), &2.into())
    );
    assert_eq!(error["details"]["others"][0]["line"], 3);
    assert_eq!(error["recoverable"], true);

    // `--no-check` runs the program despite its type errors.
    let output = env.mux(["--json", "run", "--no-check", "-e", &code]);
    assert_eq!(output.json()["error"]["kind"], "validation", "{output:#?}");
    assert!(file.exists(), "it did not run");
}

#[test]
fn type_errors_are_warnings_in_mode_warn() {
    let env = home("mode = \"warn\"\n");
    let code = "const n = 1; n.lenght; return n";
    let document = env.mux(["--json", "run", "-e", code]).ok().json();
    assert_eq!(document["result"], 1);
    let warning = &document["warnings"][0];
    assert_eq!(
        (&warning["kind"], &warning["line"]),
        (&"type".into(), &1.into())
    );
    let shown = env.mux(["run", "-e", code]).ok().stderr;
    assert!(
        shown.contains("warning[type]: Property 'lenght'"),
        "{shown}"
    );

    let found = env.mux(["--json", "check", "-e", code]).ok().json();
    assert_eq!(found["errors"], Value::Array(Vec::new()));
    assert_eq!(found["warnings"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_checked_in_the_mode_of_the_agent() {
    let env = home("mode = \"off\"\n[agents.strict]\ncheck = \"error\"\n");
    for (agent, errors) in [("strict", 1), ("other", 0)] {
        let identity = ClientIdentity {
            agent: Some(agent.into()),
            ..ClientIdentity::new("editor", "1")
        };
        let muxd = Some(binary("muxd"));
        let session = mux_client::connect_or_spawn(&env.dirs, muxd, &identity).await;
        let source = "const n = 1; return n.lenght.x".into();
        let request = CheckRequest { source };
        let client = session.unwrap().client;
        let found = client.check(within_seconds(30), request).await;
        let found = found.unwrap().unwrap();
        assert_eq!(found.errors.len(), errors, "{agent}: {found:?}");
        assert_eq!(found.unchecked.is_none(), agent == "strict", "{found:?}");
    }
}

#[test]
fn types_without_a_compiler_are_not_checked_and_the_reason_is_reported() {
    let env = TestEnv::new();
    let fixture = env.fixture("fix", &[]);
    env.write_config(&format!("{fixture}[check]\ntsc = \"/dev/null/tsc\"\n"));
    let document = env.mux(["--json", "run", "-e", "return 1"]).ok().json();
    assert_eq!(document["result"], 1);
    let why = document["unchecked"].as_str().unwrap();
    assert!(why.contains("/dev/null/tsc"), "{why}");
    // The note also comes without a terminal.
    for command in ["run", "check"] {
        let output = env
            .command("mux")
            .args([command, "-e", "return 1"])
            .output();
        let stderr = String::from_utf8(output.unwrap().stderr).unwrap();
        assert_eq!(stderr.matches("/dev/null/tsc").count(), 1, "{stderr}");
    }
    let status = env.mux(["--json", "status"]).ok().json();
    let problem = status["checker"]["problem"].as_str().unwrap();
    assert!(problem.contains("/dev/null/tsc"), "{problem}");
    let found = env.mux(["--json", "check", "-e", "return 1"]).ok().json();
    assert!(
        found["unchecked"].as_str().unwrap().contains("tsc"),
        "{found}"
    );
    env.write_config(&format!("{fixture}[check]\nmode = \"off\"\n"));
    env.mux(["reload"]).ok();
    let document = env.mux(["--json", "run", "-e", "return 1"]).ok().json();
    assert!(
        document["unchecked"]
            .as_str()
            .unwrap()
            .contains("the check is off")
    );
    let output = env.mux(["run", "-e", "return 1"]).ok();
    assert!(output.stderr.contains("the check is off"), "{output:#?}");
}

#[test]
fn types_that_were_only_observed_warn_and_are_in_the_hint_of_a_failure() {
    let env = home("");
    let text = r#"'{"items": [{"id": 1}]}'"#;
    let call = format!("const r = await mux.fix.echo({{ text: {text} }});");
    env.result(&format!("{call} return r.items.length"));
    let code = format!("{call}\nreturn r.itemz.length");
    // Types are learned concurrently with the call.
    for _ in 0..200 {
        let document = env.mux(["--json", "run", "-e", &code]).json();
        let error = &document["error"];
        assert_eq!(error["kind"], "runtime", "{document:#}");
        if document["warnings"][0]["line"] == 2 {
            let hint = error["hint"].as_str().unwrap_or_default();
            assert!(
                hint.contains("itemz") && hint.contains("'items'") && hint.contains("id: number"),
                "{document:#}"
            );
            return;
        }
    }
    panic!("nobody was warned");
}

#[test]
fn types_of_an_unknown_server_are_fetched_for_the_check() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}{}[check]\ntsc = {:?}\n",
        env.fixture("fix", &[]),
        env.fixture("other", &[]),
        compiler()
    ));
    let error = env.error("return await mux.fix.add({ a: 'x', b: 1 })");
    assert_eq!(error["kind"], "type", "{error:#}");
    assert!(!env.starts("fix").is_empty());
    assert!(env.starts("other").is_empty(), "it was not named");
}

#[test]
fn program_that_declines_the_check_says_that_it_is_unchecked() {
    let env = home("");
    let code = "// @ts-nocheck\nconst n: number = 'a';\nreturn n;";
    for command in ["run", "check"] {
        let output = env.mux([command, "-e", code]).ok();
        assert!(output.stderr.contains("@ts-nocheck"), "{output:#?}");
        let document = env.mux(["--json", command, "-e", code]).ok().json();
        assert!(document["unchecked"].is_string(), "{document}");
    }
    let output = env.mux(["--quiet", "run", "-e", code]).ok();
    assert_eq!(output.stderr, "");
}

#[test]
fn compiler_is_offered_once_after_a_run_at_a_terminal() {
    let env = TestEnv::new();
    let run = || {
        let mut command = env.command("mux");
        command.args(["run", "-e", "return 1"]);
        command.env("npm_config_registry", "http://127.0.0.1:9");
        TestTerminal::start_command(&mut command)
    };
    let mut terminal = run();
    terminal.wait_for("Install it from http://127.0.0.1:9");
    terminal.type_line("n");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.trim()), (Some(0), "1"));
    assert!(shown.contains("`mux setup` installs it"), "{shown}");
    let (code, _, shown) = run().end();
    assert_eq!(code, Some(0));
    assert!(
        shown.contains("not checked") && !shown.contains("Install it"),
        "{shown}"
    );
}

#[test]
fn failed_installation_after_a_run_is_one_note() {
    let env = TestEnv::new();
    let mut command = env.command("mux");
    command.args(["run", "-e", "return 1"]);
    command.env("npm_config_registry", "http://127.0.0.1:9");
    let mut terminal = TestTerminal::start_command(&mut command);
    terminal.wait_for("Install it from http://127.0.0.1:9");
    terminal.type_line("");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.trim()), (Some(0), "1"));
    assert!(shown.contains("`mux setup` tries again"), "{shown}");
}
