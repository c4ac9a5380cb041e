//! Rogue workers of a daemon.

use mux_tests::{TestEnv, env::binary, process};
use serde_json::{Value, json};

use super::super::vitals::{Pulse, Vitals};

/// A home whose daemon has rogue workers, with one server.
fn home() -> TestEnv {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[[policy]]\nmatch = \"fix.side_effect\"\naction = \"deny\"\n",
        env.fixture("fix", &[]),
    ));
    let mut first = env.command("mux");
    first
        .env("MUX_WORKER", binary("mux-rogue-worker"))
        .args(["run", "-e", "honest"]);
    mux_tests::env::output(&mut first).ok();
    env.mux(["call", "fix.echo", "text=warm"]).ok();
    env
}

fn play(env: &TestEnv, trick: &str) -> Value {
    let timeout = match trick {
        // Only the deadline ends these.
        "bequeaths" | "calls-with-much" | "calls-long-names" | "complains" => "2s",
        // Enough on a busy machine.
        _ => "60s",
    };
    let output = env.mux(["--json", "run", "--timeout", timeout, "-e", trick]);
    let document = output.json();
    assert_eq!(
        output.code == 0,
        document["error"].is_null(),
        "{document:#}"
    );
    document
}

#[test]
fn rogue_runs_fail_without_affecting_others() {
    let env = home();
    let daemon = env.daemon().unwrap();
    let pulse = Pulse::of(&env);
    pulse.begin();
    for (trick, kind) in [
        ("garbage", "internal"),
        ("truncated", "internal"),
        ("longest", "internal"),
        ("unknown", "internal"),
        ("says-hello", "internal"),
        ("calls-twice", "internal"),
        ("bequeaths", "timeout"),
        ("raises SIGKILL", "internal"),
        ("exits 86", "memory"),
        ("prints", "internal"),
        ("emits-much", "internal"),
        ("gives-much", "internal"),
        ("calls-with-much", "timeout"),
        ("calls-long-names", "timeout"),
        ("complains", "timeout"),
        ("blames", "runtime"),
    ] {
        let error = play(&env, trick)["error"].take();
        assert_eq!(error["kind"], kind, "{trick}: {error:#}");
        assert_eq!(play(&env, "honest")["result"], "honest", "after {trick}");
    }
    assert_eq!(env.daemon(), Some(daemon));
    assert_eq!(env.starts("fix").len(), 1);
    let peak = process::peak_bytes(daemon) >> 20;
    assert!(peak < 256, "{peak} MiB at its peak");
    // The allocator may keep memory after the first round, but must not grow in the second.
    let before = Vitals::at_rest(daemon, &pulse);
    for trick in [
        "prints",
        "emits-much",
        "gives-much",
        "calls-with-much",
        "calls-long-names",
    ] {
        play(&env, trick);
        assert_eq!(play(&env, "honest")["result"], "honest", "after {trick}");
    }
    pulse.end().unwrap();
    before.again(daemon, &pulse).unwrap();
    // One worker wrote to its standard error until it was killed.
    let log = env.log();
    assert!(log.contains("no more of its standard error is logged"));
    let flood = log.lines().filter(|line| line.contains("xxxx"));
    let logged: usize = flood.map(str::len).sum();
    assert!(logged < 100 << 10, "{logged} bytes");
}

#[test]
fn rogue_results_and_parts_are_validated() {
    let env = home();
    for trick in [
        "gives {{{",
        "gives",
        "gives 1 2",
        "gives \"\\ud800\"",
        "gives [1,",
        "gives NaN",
    ] {
        let document = play(&env, trick);
        assert!(
            document["error"]["kind"].is_string(),
            "{trick}: {document:#}"
        );
    }
    assert_eq!(play(&env, "gives [1]")["result"], json!([1]));
    for part in ["", "{{{", "null", "[]", "{\"type\":1}", "\"text\""] {
        let document = play(&env, &format!("emits {part}"));
        // An invalid part does not reach the caller.
        let parts = document["parts"].as_array().map_or(0, Vec::len);
        assert_eq!(parts, 0, "{part}: {document:#}");
        assert_eq!(play(&env, "honest")["result"], "honest", "after {part}");
    }
}

#[test]
fn rogue_builtin_calls_are_validated() {
    let env = home();
    fs_secret(&env);
    for ask in [
        "asks read {}",
        "asks read {{{",
        "asks read null",
        "asks read [1]",
        "asks read {\"handle\":\"../../config.toml\"}",
        "asks read {\"handle\":\"/etc/passwd\"}",
        "asks read {\"handle\":\"h_00000000000000000000000000000000\"}",
        "asks read {\"handle\":1}",
        "asks read {\"handle\":\"h_00000000000000000000000000000000\",\"offset\":-1}",
        "asks read {\"handle\":\"h_00000000000000000000000000000000\",\"offset\":1e400}",
        "asks stop {}",
        "asks emit {}",
        "asks __proto__ {}",
        "asks  {}",
    ] {
        let document = play(&env, ask);
        let kind = document["error"]["kind"].as_str().unwrap_or_default();
        assert!(
            ["validation", "not_found", "internal", "denied"].contains(&kind),
            "{ask}: {document:#}"
        );
        assert!(
            !document.to_string().contains("secret-of-the-home"),
            "{document:#}"
        );
    }
    assert_eq!(play(&env, "honest")["result"], "honest");
}

fn fs_secret(env: &TestEnv) {
    std::fs::write(env.dirs.env_file(), "TOKEN=secret-of-the-home\n").unwrap();
}
