//! `mux call`: the forms of its arguments, invalid ones, its progress, and results with parts.

use std::fs;

use mux_tests::{CommandTranscript, TestEnv, TestTerminal, mux_snapshot};
use serde_json::json;

use super::prints;

#[test]
fn commands_call_takes_pairs_json_or_standard_input() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let sum = "{\n  \"sum\": 3\n}\n";
    prints(env.mux(["call", "fix.add", "a=1", "b=2"]), sum);
    prints(env.mux(["call", "fix.add", r#"{"a": 1, "b": 2}"#]), sum);
    prints(
        env.mux(["call", "fix.add", "  {\"a\": 1, \"b\": 2}\n"]),
        sum,
    );
    prints(
        env.mux_with_input(["call", "fix.add", "-"], br#"{"a": 1, "b": 2}"#),
        sum,
    );
    let document = env
        .mux(["call", "fix.add", "a=1", "b=2", "--json"])
        .ok()
        .json();
    assert_eq!(document, json!({ "ok": true, "result": { "sum": 3 } }));
    let raw = env
        .mux(["call", "--raw", "fix.add", "a=1", "b=2"])
        .ok()
        .json();
    assert_eq!(raw["structuredContent"], json!({ "sum": 3 }));
    assert_eq!(raw["content"][0]["type"], "text");
    std::fs::write(env.path("sum.json"), r#"{"a": 1, "b": 2}"#).unwrap();
    for args in [
        &["fix.add", "@sum.json"][..],
        &["fix", "add", "a=1", "b=2"],
        &["fix.add(a: 1, b: 2)"],
        &["fix", "add({ a: 1, 'b': 2, });"],
        &["fix.add", "--input", "a=1", "--input", "b=2"],
        &["fix.add", "{a: 1, b: 2}"],
    ] {
        prints(env.mux([&["call"], args].concat()), sum);
    }
    // Without arguments it sends an empty object.
    env.mux(["call", "fix.pid()"]).ok();
    env.mux(["call", "fix.pid"]).ok();
}

#[test]
fn commands_call_converts_pairs_by_the_schema() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "8"])]);
    prints(env.mux(["call", "fix.echo", "text=12"]), "12\n");
    prints(env.mux(["call", "fix.echo", "text={}"]), "{}\n");
    prints(env.mux(["call", "fix.echo", "text=a=b c"]), "a=b c\n");
    prints(env.mux(["call", "fix.echo", "text="]), "\n");
    for (value, expected) in [
        ("value=12", json!(12)),
        ("value=-1.5", json!(-1.5)),
        ("value=true", json!(true)),
        ("value=null", json!(null)),
        ("value=[1, {}]", json!([1, {}])),
        ("value=plain text", json!("plain text")),
        ("value=\"12\"", json!("12")),
    ] {
        let document = env
            .mux(["call", "--json", "fix.echo_json", value])
            .ok()
            .json();
        assert_eq!(document["result"]["value"], expected, "{value}");
    }
    // A list takes one item, several, or a JSON array. This tool returns its arguments.
    let tool = "fix.create_issue_0002";
    for (given, tags) in [
        (&["tags=1"][..], json!(["1"])),
        (&["tags=a", "tags=b"], json!(["a", "b"])),
        (&[r#"tags=["a", "b"]"#], json!(["a", "b"])),
    ] {
        let args = [&["call", "--json", tool, "draft=true"], given].concat();
        let document = env.mux(args).ok().json();
        assert_eq!(document["result"], json!({ "draft": true, "tags": tags }));
    }
}

#[test]
fn commands_call_accepts_every_spelling_of_a_path() {
    let env = TestEnv::with_fixtures(&[("my-server", &[])]);
    for path in [
        "my-server.get-thing",
        "my_server.get_thing",
        "my-server.get_thing",
        "my_server.get-thing",
    ] {
        prints(
            env.mux(["call", path, "id=x"]),
            "{\n  \"tool\": \"get-thing\",\n  \"id\": \"x\"\n}\n",
        );
    }
}

#[test]
fn commands_call_shows_the_signature_for_invalid_arguments() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    mux_snapshot!(
        env.transcript(&[
            &["call", "fix.add", "a=1"],
            &["call", "fix.add", "a=1", "b=two"],
            &["call", "fix.add", "a=1", "a=2", "b=3"],
            &["call", "fix.add", r#"{"a": -1, "b": 0}"#],
        ]),
        @r#"
    $ mux call fix.add a=1
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.add do not fit: "b" is a required property
      hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>

    $ mux call fix.add a=1 b=two
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.add do not fit: b: "two" is not of type "number"
      hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>

    $ mux call fix.add a=1 a=2 b=3
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.add do not fit: a is given twice
      hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>

    $ mux call fix.add {"a": -1, "b": 0}
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.add do not fit: a: -1 is less than the minimum of 0
      hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>
    "#
    );
}

#[test]
fn commands_call_rejects_malformed_arguments_as_usage_errors() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    mux_snapshot!(
        env.transcript(&[
            &["call"],
            &["call", "fix.add", "a"],
            &["call", "fix.add", "@none.json"],
            &["call", "fix.add", "=1"],
            &["call", "fix.add", "{\"a\": 1"],
            &["call", "fix.add", "[1, 2]"],
            &["call", "fix.add", "--text"],
            &["call", "fix.add", "a=1", "{\"b\": 2}"],
            &["call", "fix.add(a: 1"],
            &["call", "fix.add(1, 2)"],
        ]),
        @r#"
    $ mux call
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the following required arguments were not provided:
      <PATH>

    Usage: mux call <PATH> [ARGUMENT]...

    For more information, try '--help'.

    $ mux call fix.add a
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "a" is not key=value, JSON, @FILE or -
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add @none.json
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read "none.json": No such file or directory (os error 2)
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add =1
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "=1" is not key=value, JSON, @FILE or -
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add {"a": 1
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are not JSON: Unterminated object on line 1 column 1 in "{\"a\": 1"
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add [1, 2]
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are JSON, but not an object
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add --text
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: unexpected argument '--text' found

      tip: tool arguments have no dashes: `text=VALUE`

    Usage: mux call <PATH> [ARGUMENT]...

    For more information, try '--help'.

    $ mux call fix.add a=1 {"b": 2}
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "{\"b\": 2}" is not key=value; several arguments are all pairs
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add(a: 1
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: "fix.add(a: 1" is not a call: it does not end with )
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add(1, 2)
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are not JSON: Expected colon after the string or word in object property on line 1 column 3 in "{1, 2}"
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'
    "#
    );
    let mut from_input = CommandTranscript::default();
    for input in [&b""[..], b"nope", b"\xff\xfe", b"7"] {
        let output = env.mux_with_input(["call", "fix.add", "-"], input);
        from_input.add(format!("mux call fix.add - < {input:?}"), &output);
    }
    mux_snapshot!(from_input, @r#"
    $ mux call fix.add - < []
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are not JSON: EOF while parsing a value at line 1 column 0 on standard input
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add - < [110, 111, 112, 101]
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are not JSON: Unexpected word on line 1 column 1 on standard input
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add - < [255, 254]
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read standard input: it is not UTF-8 text
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'

    $ mux call fix.add - < [55]
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the arguments are JSON, but not an object
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'
    "#);
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(5 << 20));
    mux_snapshot!(env.mux_with_input(["call", "fix.echo", "-"], large.as_bytes()), @r#"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot read standard input: it exceeds the limit of 4 MiB
      hint: pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:
            files.read path=/tmp limit=3, or files.read '{"path": "/tmp"}', or 'files.read(path: "/tmp")'
    "#);
    // None of these starts the server.
    assert_eq!(env.starts("fix").len(), 0);
}

#[test]
fn commands_call_summarizes_an_image_and_saves_it() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    mux_snapshot!(
        env.transcript(&[
            &["call", "fix.image"],
            &["call", "fix.image", "--save-parts", "out/parts"],
        ]),
        @"
    $ mux call fix.image
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    part 1: image/png, 70 B
    note: `--save-parts DIR` writes parts to files

    $ mux call fix.image --save-parts out/parts
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    part 1: image/png, 70 B
    part 1: written to out/parts/part-1.png
    "
    );
    let image = fs::read(env.path("out/parts/part-1.png")).unwrap();
    assert!(image.starts_with(b"\x89PNG") && image.len() == 70);
    // JSON and the raw result have the data.
    let args = ["--json", "call", "fix.image", "--save-parts", "out/parts"];
    let document = env.mux(args).ok().json();
    assert_eq!(document["result"]["type"], "image");
    assert_eq!(document["files"], json!(["out/parts/part-2.png"]));
    let raw = env.mux(["call", "--raw", "fix.image"]).ok();
    assert_eq!(raw.json()["content"][0], document["result"]);
    assert_eq!(raw.stderr, "");
    let args = ["call", "fix.echo", "text=x", "--save-parts", "out/parts"];
    mux_snapshot!(env.mux(args), @"
    success: true
    exit_code: 0
    ----- stdout -----
    x
    ----- stderr -----
    note: the result has no parts to save
    ");
    // An invalid folder fails before the tool is called.
    fs::write(env.path("file"), "").unwrap();
    mux_snapshot!(env.mux(["call", "fix.image", "--save-parts", "file"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: cannot create the directory file: File exists (os error 17)
      hint: name a directory that you can write to
    ");
}

#[test]
fn commands_call_shows_progress_on_a_terminal() {
    let env = TestEnv::with_fixtures(&[("fix", &["--offers"])]);
    let args = ["call", "fix.progress", "steps=3", "ms=400"];
    let mut terminal = TestTerminal::start(&env, &args);
    terminal.wait_for("fix.progress  ");
    terminal.wait_for(" %  step ");
    let (code, output, shown) = terminal.end();
    assert_eq!((code, output.as_str()), (Some(0), "done\n"), "{shown}");
}

#[test]
fn commands_call_rejects_arguments_that_the_tool_does_not_declare() {
    let env = TestEnv::with_fixtures(&[("fix", &["--tools", "8"])]);
    mux_snapshot!(
        env.transcript(&[
            &["call", "fix.counter", "key=k", "bye=2"],
            &["call", "fix.counter", r#"{"key": "k", "bye": 2}"#],
        ]),
        @r#"
    $ mux call fix.counter key=k bye=2
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.counter do not fit: there is no argument "bye" (did you mean "by"?)
      hint: fix.counter(args: { key: string; by?: number })

    $ mux call fix.counter {"key": "k", "bye": 2}
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[validation]: the arguments of fix.counter do not fit: there is no argument "bye" (did you mean "by"?)
      hint: fix.counter(args: { key: string; by?: number })
    "#
    );
    prints(env.mux(["call", "fix.counter", "key=k"]), "1\n");
    // A program's call is not changed, because its type check has warned.
    let code = "return await mux.fix.counter({ key: 'k', bye: 2 } as any)";
    prints(env.run(code), "2\n");
    // A tool without declared arguments accepts all arguments.
    env.mux(["call", "fix.get_invoice_0007", "any=1"]).ok();
}
