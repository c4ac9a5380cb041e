//! `mux run` and `mux check`: sources of programs, and where output goes.

use std::fs;

use mux_tests::{TestEnv, mux_snapshot};
use serde_json::json;

use super::prints;

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
        ("null", ""),
    ] {
        prints(env.run(code), data);
    }
}

#[test]
fn commands_run_sends_the_console_to_standard_error_in_order() {
    let env = TestEnv::new();
    let code = "console.log('one'); console.error('two\\nlines'); console.debug('three'); return 4";
    mux_snapshot!(env.run(code), @"
    success: true
    exit_code: 0
    ----- stdout -----
    4
    ----- stderr -----
    one
    two
    lines
    three
    ");
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
    assert_eq!(calls[0].get("error"), None);
    let error = &calls[1]["error"];
    assert_eq!(
        (&error["kind"], &error["message"]),
        (&json!("tool"), &json!("no"))
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
    mux_snapshot!(env.mux(["run", "fails.ts"]), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[runtime]: 😀 here
      --> fails.ts:2:8
      2 |  throw new Error('😀 here');
        |        ^
      called from program (4:3)
    ");
    let code = "await mux.fix.echo({ text: 'x' });\nreturn await mux.fix.ad({})";
    mux_snapshot!(env.run(code), @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[not_found]: there is no tool `fix.ad`
      --> program:2:8
      2 | return await mux.fix.ad({})
        |        ^
      hint: did you mean
            fix.add(args: { a: number; b: number }): Promise<{ sum: number }>
      before that, 1 other call ended
    ");
}

#[test]
fn commands_run_and_check_reject_invalid_arguments_as_usage_errors() {
    let env = TestEnv::new();
    fs::write(env.path("text.ts"), "return 1").unwrap();
    mux_snapshot!(
        env.transcript(&[
            &["run", "missing.ts"],
            &["run", "."],
            &["run"],
            &["run", "-e", "return 1", "text.ts"],
            &["run", "text.ts", "--input", "{bad"],
            &["run", "text.ts", "--input", ""],
            &["run", "text.ts", "--input", "undefined"],
            &["run", "text.ts", "--input", "@missing.json"],
            &["run", "text.ts", "--input", "n=1", "--input", "{}"],
            &["run", "text.ts", "--input", "n=1", "--input", "n=2"],
            &["run", "text.ts", "--timeout", "soon"],
            &["run", "text.ts", "--timeout", "0"],
            &["run", "text.ts", "--timeout", "3600s"],
            &["check", "missing.ts"],
            &["check", "."],
            &["check"],
            &["check", "-e", "return 1", "text.ts"],
        ]),
        @r#"
    $ mux run missing.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read missing.ts: No such file or directory (os error 2)
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux run .
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read .: Is a directory (os error 21)
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux run
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: no program was given
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux run -e return 1 text.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the argument '--eval <CODE>' cannot be used with '[FILE]'

    Usage: mux run --eval <CODE> [FILE]

    For more information, try '--help'.

    $ mux run text.ts --input {bad
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: --input is not JSON: Expected colon after the string or word in object property on line 1 column 5 in "{bad"
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --input 
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "" is not key=value, JSON, @FILE or -
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --input undefined
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "undefined" is not key=value, JSON, @FILE or -
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --input @missing.json
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read "missing.json": No such file or directory (os error 2)
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --input n=1 --input {}
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "{}" is not key=value; several arguments are all pairs
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --input n=1 --input n=2
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "n" is given twice; a list is n='[1, 2]'
      hint: pass quoted JSON, key=value, @FILE, or - for standard input:
            --input '{"n": 1}', or --input n=1 --input name=x, or --input @input.json

    $ mux run text.ts --timeout soon
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value 'soon' for '--timeout <TIME>': it must be a time from 1s to 300s, such as 30s or 2m

    For more information, try '--help'.

    $ mux run text.ts --timeout 0
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value '0' for '--timeout <TIME>': it must be a time from 1s to 300s, such as 30s or 2m

    For more information, try '--help'.

    $ mux run text.ts --timeout 3600s
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid value '3600s' for '--timeout <TIME>': it must be a time from 1s to 300s, such as 30s or 2m

    For more information, try '--help'.

    $ mux check missing.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read missing.ts: No such file or directory (os error 2)
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux check .
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read .: Is a directory (os error 21)
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux check
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: no program was given
      hint: pass a TypeScript or JavaScript file, the code with -e CODE, or - for standard input

    $ mux check -e return 1 text.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the argument '--eval <CODE>' cannot be used with '[FILE]'

    Usage: mux check --eval <CODE> [FILE]

    For more information, try '--help'.
    "#
    );
    mux_snapshot!(env.mux_with_input(["run", "-", "--input", "-"], b"return 1"), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: standard input is the program, so it cannot also be --input
      hint: use a file for one of them
    ");
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
    mux_snapshot!(env.mux(["check", "good.ts"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    ");
    mux_snapshot!(env.mux_with_input(["check", "-"], b"return 1"), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["check", "bad.ts"]), @"
    success: false
    exit_code: 4
    ----- stdout -----
    ----- stderr -----
    error[syntax]: Expression expected
      --> bad.ts:2:12
      2 | let b = a +;
        |            ^
    ");
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
