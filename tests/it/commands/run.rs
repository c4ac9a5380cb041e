//! `mux run` and `mux check`: sources of programs, and where output goes.

use std::fs;

use mux_tests::TestEnv;
use serde_json::json;

use super::{complains, prints};

#[test]
fn commands_run_takes_a_file_standard_input_or_the_program_itself() {
    let env = TestEnv::new();
    let file = env.path("program.ts");
    fs::write(&file, "const n: number = mux.input?.n ?? 1;\nreturn n;\n").unwrap();
    let file = file.to_str().unwrap();
    prints(env.mux(["run", file]), "1\n");
    // A path relative to the current directory.
    prints(
        env.mux(["run", "program.ts", "--input", r#"{"n": 2}"#]),
        "2\n",
    );
    prints(env.mux_with_input(["run", "-"], b"return 3"), "3\n");
    prints(env.run("return 4"), "4\n");
    prints(
        env.mux(["run", "-e", "return mux.input", "--input", "[5, null]"]),
        "[\n  5,\n  null\n]\n",
    );
    prints(
        env.mux(["run", "--eval", "return 6", "--timeout", "5"]),
        "6\n",
    );
}

#[test]
fn commands_run_and_program_take_input_in_several_forms() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    fs::write(env.path("input.json"), "{ n: 1, s: 'x' } // as JavaScript").unwrap();
    let code = "return JSON.stringify(mux.input)";
    for (input, seen) in [
        (&["@input.json"][..], r#"{"n":1,"s":"x"}"#),
        (&["n=1", "s=x", "l=[1]"], r#"{"n":1,"s":"x","l":[1]}"#),
        (&["{n: 1}"], r#"{"n":1}"#),
        (&["7"], "7"),
    ] {
        let options = input.iter().flat_map(|input| ["--input", input]);
        let args: Vec<&str> = ["run", "-e", code].into_iter().chain(options).collect();
        prints(env.mux(&args), &format!("{seen}\n"));
    }
    prints(
        env.mux_with_input(["run", "-e", code, "--input", "-"], b"[1]"),
        "[1]\n",
    );
    let steps = r#"{"steps": [{"id": "a", "tool": "fix.echo", "args": {"text": "{{input.s}}"}}]}"#;
    for input in ["@input.json", "s=x"] {
        prints(env.mux(["program", "-e", steps, "--input", input]), "x\n");
    }
}

#[test]
fn commands_run_prints_text_as_text_and_other_values_as_json() {
    let env = TestEnv::new();
    for (code, data) in [
        ("return 'text'", "text\n"),
        ("return 'a line\\n'", "a line\n"),
        ("return ''", "\n"),
        (
            "return { a: [1, 'b'] }",
            "{\n  \"a\": [\n    1,\n    \"b\"\n  ]\n}\n",
        ),
        ("return 1.5", "1.5\n"),
        ("return false", "false\n"),
        ("return null", ""),
        ("", ""),
    ] {
        prints(env.run(code), data);
    }
}

#[test]
fn commands_run_sends_the_console_to_standard_error_in_order() {
    let env = TestEnv::new();
    let output = env
        .run("console.log('one'); console.error('two\\nlines'); console.debug('three'); return 4")
        .ok();
    assert_eq!(output.stdout, "4\n");
    assert_eq!(output.stderr, "one\ntwo\nlines\nthree\n");
}

#[test]
fn commands_run_as_json_contains_result_console_and_calls() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "console.warn('careful'); await mux.fix.add({ a: 1, b: 1 });\n\
                await mux.fix.fail({ message: 'no' }).catch(() => {}); return [1]";
    let document = env.mux(["--json", "run", "-e", code]).ok().json();
    assert_eq!(document["ok"], true);
    assert_eq!(document["result"], json!([1]));
    assert_eq!(
        document["console"],
        json!([{ "level": "warn", "text": "careful" }])
    );
    assert!(document["run"].is_string(), "{document:#}");
    let calls = document["calls"].as_array().unwrap();
    assert_eq!(
        (&calls[0]["path"], &calls[1]["path"]),
        (&json!("fix.add"), &json!("fix.fail"))
    );
    assert_eq!(calls[0]["bytes"], "{\"sum\":2}".len());
    assert_eq!(calls[0]["error"], json!(null));
    assert_eq!(
        calls[1]["error"],
        json!({ "kind": "tool", "message": "no" })
    );
    // A failed run has the same fields.
    let document = env
        .mux(["--json", "run", "-e", &format!("{code}; throw 1")])
        .json();
    assert_eq!(
        document["ok"], true,
        "what stands after a return is not run: {document:#}"
    );
    let document = env
        .mux(["--json", "run", "-e", &code.replace("return", "throw")])
        .json();
    assert_eq!(
        document["error"]["message"], "uncaught: [1]",
        "{document:#}"
    );
    assert_eq!(document["calls"].as_array().unwrap().len(), 2);
    assert_eq!(document["console"][0]["text"], "careful");
}

#[test]
fn commands_run_shows_where_a_program_failed() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    fs::write(
        env.path("fails.ts"),
        "const deep = () => {\n\tthrow new Error('😀 here');\n};\n  deep();\n",
    )
    .unwrap();
    let output = complains(env.mux(["run", "fails.ts"]), 1, &[]);
    assert_eq!(
        output.stderr,
        "error[runtime]: 😀 here\n  --> fails.ts:2:8\n  2 |  throw new Error('😀 here');\n    |        ^\n  \
         called from program (4:3)\n"
    );
    let code = "await mux.fix.echo({ text: 'x' });\nreturn await mux.fix.ad({})";
    complains(
        env.run(code),
        1,
        &[
            "--> program:2:8",
            "hint: did you mean",
            "fix.add(args: {",
            "before that, 1 other call ended\n",
        ],
    );
}

#[test]
fn commands_run_and_check_reject_invalid_arguments_as_usage_errors() {
    let env = TestEnv::new();
    fs::write(env.path("text.ts"), "return 1").unwrap();
    for command in ["run", "check"] {
        complains(
            env.mux([command, "missing.ts"]),
            2,
            &["cannot read missing.ts", "hint: "],
        );
        complains(env.mux([command, "."]), 2, &["cannot read ."]);
        complains(
            env.mux([command]),
            2,
            &["no program was given", "-e CODE", "or - for"],
        );
        complains(
            env.mux([command, "-e", "return 1", "text.ts"]),
            2,
            &["--eval"],
        );
    }
    for (input, part) in [
        ("{bad", "--input is not JSON"),
        ("", "\"\" is not key=value, JSON, @FILE or -"),
        ("undefined", "\"undefined\" is not key=value"),
        ("@missing.json", "cannot read \"missing.json\""),
    ] {
        complains(
            env.mux(["run", "text.ts", "--input", input]),
            2,
            &[part, "--input @input.json"],
        );
    }
    for pairs in [["n=1", "{}"], ["n=1", "n=2"]] {
        let args = ["run", "text.ts", "--input", pairs[0], "--input", pairs[1]];
        complains(env.mux(args), 2, &["--input n=1 --input name=x"]);
    }
    complains(
        env.mux_with_input(["run", "-", "--input", "-"], b"return 1"),
        2,
        &["standard input is the program"],
    );
    for timeout in ["soon", "0", "3600s"] {
        complains(
            env.mux(["run", "text.ts", "--timeout", timeout]),
            2,
            &[&format!("'{timeout}'"), "--timeout", "from 1s to 300s"],
        );
    }
    // None of this starts a daemon.
    assert_eq!(env.daemon(), None);
}

#[test]
fn commands_check_reports_mistakes_and_is_silent_otherwise() {
    let env = TestEnv::new();
    fs::write(
        env.path("good.ts"),
        "const a: number = await mux.any.thing();\nreturn a;\n",
    )
    .unwrap();
    fs::write(env.path("bad.ts"), "const a = 1;\nlet b = a +;\n").unwrap();
    // This home has no compiler.
    for output in [
        env.mux(["check", "good.ts"]).ok(),
        env.mux_with_input(["check", "-"], b"return 1").ok(),
    ] {
        assert_eq!(output.stdout, "");
        let note = "note: the types were not checked: ";
        assert!(output.stderr.starts_with(note), "{output:#?}");
    }
    let output = complains(env.mux(["check", "bad.ts"]), 4, &["error[syntax]: "]);
    assert!(
        output
            .stderr
            .ends_with("--> bad.ts:2:12\n  2 | let b = a +;\n    |            ^\n"),
        "{output:#?}"
    );
    let mut document = env.mux(["check", "--json", "good.ts"]).ok().json();
    assert!(document["unchecked"].take().is_string(), "{document:#}");
    assert_eq!(
        document,
        json!({ "ok": true, "errors": [], "warnings": [], "unchecked": null })
    );
    let document = env.mux(["check", "--json", "bad.ts"]).json();
    assert_eq!(
        (
            &document["errors"][0]["line"],
            &document["errors"][0]["column"]
        ),
        (&json!(2), &json!(12)),
        "{document:#}"
    );
}
