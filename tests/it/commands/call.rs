//! `mux call`: the forms of its arguments, invalid ones, its progress, and results with parts.

use std::fs;

use mux_tests::{TestEnv, TestTerminal};
use serde_json::json;

use super::{complains, prints};

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
    let signature = "hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>";
    for (args, mistake) in [
        (&["a=1"][..], "\"b\" is a required property"),
        (&["a=1", "b=two"], "b: \"two\" is not of type \"number\""),
        (&["a=1", "a=2", "b=3"], "a: it is given twice"),
        (
            &[r#"{"a": -1, "b": 0}"#],
            "a: -1 is less than the minimum of 0",
        ),
    ] {
        complains(
            env.mux([&["call", "fix.add"], args].concat()),
            1,
            &["error[validation]: ", mistake, signature],
        );
    }
}

#[test]
fn commands_call_rejects_malformed_arguments_as_usage_errors() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for (argument, part) in [
        ("a", "\"a\" is not key=value, JSON, @FILE or -"),
        ("@none.json", "cannot read \"none.json\""),
        ("=1", "\"=1\" is not key=value"),
        ("{\"a\": 1", "the arguments are not JSON"),
        ("[1, 2]", "the arguments are JSON, but not an object"),
        ("--text", "unexpected argument '--text'"),
    ] {
        complains(env.mux(["call", "fix.add", argument]), 2, &[part]);
    }
    complains(
        env.mux(["call", "fix.add", "a=1", "{\"b\": 2}"]),
        2,
        &["is not key=value"],
    );
    for call in ["fix.add(a: 1", "fix.add(1, 2)"] {
        complains(env.mux(["call", call]), 2, &["'files.read(path:"]);
    }
    complains(env.mux(["call"]), 2, &["<PATH>"]);
    for (input, part) in [
        (&b""[..], "the arguments are not JSON"),
        (b"nope", "the arguments are not JSON"),
        (b"\xff\xfe", "cannot read standard input"),
        (b"7", "but not an object"),
    ] {
        complains(
            env.mux_with_input(["call", "fix.add", "-"], input),
            2,
            &[part],
        );
    }
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(5 << 20));
    complains(
        env.mux_with_input(["call", "fix.echo", "-"], large.as_bytes()),
        2,
        &["over the limit of 4 MiB"],
    );
    // None of these starts the server.
    assert_eq!(env.starts("fix").len(), 0);
}

#[test]
fn commands_call_summarizes_an_image_and_saves_it() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let output = env.mux(["call", "fix.image"]).ok();
    assert_eq!(output.stdout, "");
    assert_eq!(
        output.stderr,
        "part 1: image/png, 70 B\nnote: `--save-parts DIR` writes parts to files\n"
    );
    let output = env
        .mux(["call", "fix.image", "--save-parts", "out/parts"])
        .ok();
    assert_eq!(output.stdout, "");
    assert_eq!(
        output.stderr,
        "part 1: image/png, 70 B\npart 1: written to out/parts/part-1.png\n"
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
    let output = env.mux(args).ok();
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("x\n", "note: the result has no parts that could be saved\n")
    );
    // An invalid folder fails before the tool is called.
    fs::write(env.path("file"), "").unwrap();
    complains(
        env.mux(["call", "fix.image", "--save-parts", "file"]),
        2,
        &["cannot make the directory file"],
    );
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
    for arguments in [&["key=k", "bye=2"][..], &[r#"{"key": "k", "bye": 2}"#]] {
        complains(
            env.mux([&["call", "fix.counter"], arguments].concat()),
            1,
            &[
                "error[validation]",
                "no argument \"bye\" (did you mean \"by\"?)",
                "hint: fix.counter(args: ",
            ],
        );
    }
    prints(env.mux(["call", "fix.counter", "key=k"]), "1\n");
    // A program's call is not changed, because its type check has warned.
    let code = "return await mux.fix.counter({ key: 'k', bye: 2 } as any)";
    prints(env.run(code), "2\n");
    // A tool that declares nothing takes everything.
    env.mux(["call", "fix.get_invoice_0007", "any=1"]).ok();
}
