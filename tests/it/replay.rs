//! Runs that are recorded, and replayed in a home without servers.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use mux_tests::TestEnv;
use serde_json::{Value, json};

const SECRET: &str = "s3cret-of-a-server";
const PROGRAM: &str = r#"
const sums = await Promise.all([1, 2, 3].map(n => mux.fix.add({ a: n, b: n })));
let failed;
try { await mux.fix.fail({ message: "no" }); } catch (error) { failed = error.kind; }
const found = await mux.search("add");
console.log("sums", JSON.stringify(sums));
const image = { type: "text", text: "a part" };
mux.emit(image);
const token = await mux.fix.env({ name: "TOKEN" });
const echoed = await mux.fix.echo({ text: mux.input.password });
return { sums, failed, paths: found.items?.length ?? Object.keys(found).length, token, echoed };
"#;

/// A home with a server, and the path of the file to record to.
fn recording_home() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let entry = env.fixture("fix", &[]);
    env.write_config(&format!("{entry}env = {{ TOKEN = \"{SECRET}\" }}\n"));
    let file = env.path("run.muxrec");
    (env, file)
}

fn record(env: &TestEnv, file: &Path, code: &str) -> Value {
    let input = json!({ "password": "of-the-user" }).to_string();
    let file = file.to_str().unwrap();
    let args = [
        "--json", "run", "-e", code, "--input", &input, "--record", file,
    ];
    env.mux(args).json()
}

fn replay(env: &TestEnv, file: &Path) -> mux_tests::Output {
    env.mux(["--json", "replay", file.to_str().unwrap(), "--verify"])
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn recorded_run_is_replayed_without_servers() {
    let (env, file) = recording_home();
    let recorded = record(&env, &file, PROGRAM);
    assert_eq!(recorded["ok"], true, "{recorded:#}");
    assert_eq!(recorded["recording"], file.to_str().unwrap());
    let other = TestEnv::new();
    let again = replay(&other, &file).ok().json();
    let result = &again["result"];
    assert_eq!(result["sums"], recorded["result"]["sums"]);
    assert_eq!(
        (&result["failed"], &result["token"]),
        (&json!("tool"), &json!("***"))
    );
    assert_eq!(result["paths"], recorded["result"]["paths"]);
    for part in ["console", "parts"] {
        assert_eq!(again[part], recorded[part], "{part}");
    }
    let paths = |document: &Value| -> Vec<Value> {
        let calls = document["calls"].as_array().unwrap().iter();
        let mut paths: Vec<Value> = calls.map(|call| call["path"].clone()).collect();
        paths.sort_by_key(Value::to_string);
        paths
    };
    assert_eq!(paths(&again), paths(&recorded));
    assert_eq!(env.starts("fix").len(), 1, "nothing was sent a second time");
}

#[test]
fn recording_contains_no_secret() {
    let (env, file) = recording_home();
    record(&env, &file, PROGRAM);
    let text = fs::read_to_string(&file).unwrap();
    for secret in [SECRET, "of-the-user"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("***"));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn steps_are_recorded_and_replayed() {
    let (env, file) = recording_home();
    let program = json!({ "steps": [
        { "id": "a", "tool": "fix.add", "args": { "a": 1, "b": 2 } },
        { "id": "b", "tool": "fix.echo", "args": { "text": "{{a.result.sum}}!" } },
    ]});
    let recorded = env.mux([
        "--json",
        "program",
        "-e",
        &program.to_string(),
        "--record",
        file.to_str().unwrap(),
    ]);
    let recorded = recorded.ok().json();
    let again = replay(&TestEnv::new(), &file).ok().json();
    assert_eq!(again["result"], recorded["result"]);
}

#[test]
fn failed_run_replays_its_error_and_differences_are_reported() {
    let (env, file) = recording_home();
    let failed = record(
        &env,
        &file,
        "await mux.fix.add({ a: 1, b: 1 }); throw new Error('mine')",
    );
    assert_eq!(failed["error"]["kind"], "runtime", "{failed:#}");
    let other = TestEnv::new();
    let again = replay(&other, &file).json();
    assert_eq!(again["error"]["message"], failed["error"]["message"]);

    let mut edited = read(&file);
    edited["outcome"] = json!({ "result": 7 });
    fs::write(&file, edited.to_string()).unwrap();
    let source = "return (await mux.fix.add({ a: 1, b: 1 })) + 6";
    edited["program"]["source"] = source.into();
    fs::write(&file, edited.to_string()).unwrap();
    let output = replay(&other, &file);
    let output = output.fails(1, &["does not end as recorded"]).json();
    assert_eq!(output["verified"], false, "{output:#}");

    edited["program"]["source"] = "return await mux.fix.add({ a: 1, b: 9 })".into();
    fs::write(&file, edited.to_string()).unwrap();
    let output = replay(&other, &file);
    output.fails(
        1,
        &["no further call of fix.add", "nothing is sent in a replay"],
    );
}

#[test]
fn invalid_recording_is_refused_and_no_file_is_overwritten() {
    let (env, file) = recording_home();
    fs::write(&file, "my notes").unwrap();
    let code = "return await mux.fix.side_effect({ file: mux.input })";
    let mark = env.path("mark");
    let args = |file: &Path| {
        let input = json!(mark).to_string();
        let file = file.to_str().unwrap().to_owned();
        ["run", "-e", code, "--input", &input, "--record", &file].map(str::to_owned)
    };
    env.mux(args(&file))
        .fails(2, &["is not a recording", "name a new file"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "my notes");
    assert!(!mark.exists(), "nothing ran");
    for text in [
        "my notes",
        "{}",
        "{\"muxd_recording\":99,\"program\":{\"source\":\"\"},\"outcome\":{}}",
    ] {
        fs::write(&file, text).unwrap();
        let output = env.mux(["replay", file.to_str().unwrap()]);
        let code = if text.starts_with("{\"") { 1 } else { 2 };
        output.fails(code, &["recording"]);
    }
    let none = env.path("none");
    env.mux(["replay", none.to_str().unwrap()])
        .fails(2, &["cannot read"]);
}

#[test]
fn failed_run_is_verified_like_any_other() {
    let (env, file) = recording_home();
    for (code, kind) in [
        ("throw new Error('boom')", "runtime"),
        ("return await mux.fix.fail({})", "validation"),
    ] {
        let recorded = record(&env, &file, code);
        assert_eq!(recorded["error"]["kind"], kind, "{recorded}");
        assert_eq!(read(&file)["outcome"]["error"]["kind"], kind);
        let again = replay(&env, &file).ok().json();
        assert_eq!(again["error"], recorded["error"]);
        assert_eq!(
            (&again["ok"], &again["verified"]),
            (&json!(false), &json!(true))
        );
        let output = env.mux(["replay", file.to_str().unwrap(), "--verify"]).ok();
        assert!(
            output.stderr.contains("the run ends as recorded"),
            "{output:?}"
        );
        let mut other = read(&file);
        other["outcome"]["error"]["message"] = "otherwise".into();
        fs::write(&file, other.to_string()).unwrap();
        env.mux(["replay", file.to_str().unwrap(), "--verify"])
            .fails(
                1,
                &[
                    "does not end as recorded: it fails with [",
                    "but was recorded with [",
                    "] otherwise",
                ],
            );
        // Without `--verify` the exit code is that of the run.
        env.mux(["replay", file.to_str().unwrap()]).fails(1, &[]);
    }
}
