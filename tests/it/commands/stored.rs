//! Values that are too long for one message: printed completely as text, and as a handle with `--json`.

use mux_tests::TestEnv;
use serde_json::{Value, json};

use super::prints;

/// One line of a text whose pages are cut anywhere, also in characters and escapes.
const TEXT: &str = "\u{e4}\"\\ \u{1f600}\n";
const LINES: usize = 60_000;

#[test]
fn commands_run_prints_long_values_completely() {
    let env = TestEnv::new();
    let text = TEXT.repeat(LINES);
    let code = format!("return {}.repeat({LINES})", json!(TEXT));
    prints(env.run(&code), &text);
    prints(env.mux(["runs", "watch", "1"]), &text);
    // A text without a final newline.
    let code = format!("return {}.repeat({LINES}) + 'x'", json!(TEXT));
    prints(env.run(&code), &format!("{text}x\n"));

    let list: Vec<usize> = (0..LINES).collect();
    let code = format!("return Array.from({{ length: {LINES} }}, (_, i) => i)");
    let printed = env.run(&code).ok();
    assert_eq!(
        serde_json::from_str::<Vec<usize>>(&printed.stdout).unwrap(),
        list
    );
    assert!(printed.stdout.starts_with("[\n  0,\n"));
    // Too long to be formatted: printed as stored.
    let code = "return Array.from({ length: 900 }, (_, i) => [i, 'x'.repeat(10_000)])";
    let printed = env.run(code).ok();
    assert!(printed.stdout.starts_with("[[0,\"xxx"));
    let value: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(value.as_array().unwrap().len(), 900);
}

#[test]
fn commands_run_as_json_returns_a_handle_for_long_values() {
    let env = TestEnv::new();
    let code = format!("return {}.repeat({LINES})", json!(TEXT));
    let document = env.mux(["run", "--json", "-e", &code]).ok().json();
    assert_eq!(
        (&document["ok"], document.get("result")),
        (&json!(true), None)
    );
    let whole = serde_json::to_string(&TEXT.repeat(LINES)).unwrap();
    let stored = &document["stored"];
    assert_eq!(stored["bytes"], whole.len());
    assert!(whole.starts_with(stored["preview"].as_str().unwrap()));
    assert!(stored["expires_ms"].as_u64().unwrap() > 0);
    let handle = stored["handle"].as_str().unwrap();

    prints(env.mux(["runs", "read", handle]), &whole);
    prints(
        env.mux(["runs", "read", handle, "--length", "8"]),
        &whole[..8],
    );
    let end = format!("{}", whole.len() - 7);
    prints(
        env.mux(["runs", "read", handle, "--offset", &end]),
        &whole[whole.len() - 7..],
    );
    prints(env.mux(["runs", "read", handle, "--length", "0"]), "");
    // The value survives the daemon.
    env.stop();
    prints(
        env.mux(["runs", "read", handle, "--length", "8"]),
        &whole[..8],
    );
    // All pages together are the same text.
    let mut pages = String::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let from = from.to_string();
        let length = "300001";
        let args = [
            "runs", "read", handle, "--json", "--offset", &from, "--length", length,
        ];
        let page = env.mux(args).ok().json();
        assert_eq!(page["total"], whole.len());
        pages.push_str(page["text"].as_str().unwrap());
        offset = page["next"].as_u64();
    }
    assert!(pages == whole, "{} and {}", pages.len(), whole.len());
}

#[test]
fn commands_call_prints_long_values_completely() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let text = "x".repeat(400_000);
    let arguments = json!({ "text": text }).to_string();
    let call = |args: &[&str]| {
        env.mux_with_input(
            [&["call", "fix.echo", "-"], args].concat(),
            arguments.as_bytes(),
        )
    };
    prints(call(&[]), &format!("{text}\n"));
    let document = call(&["--json"]).ok().json();
    assert_eq!(document["stored"]["bytes"], text.len() + 2, "{document:#}");
    let handle = document["stored"]["handle"].as_str().unwrap();
    prints(env.mux(["runs", "read", handle]), &format!("\"{text}\""));
}
