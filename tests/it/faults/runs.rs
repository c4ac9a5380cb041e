//! Programs that exceed a limit. Each fails alone, with an error that names the limit.

use mux_client::{ClientIdentity, within_seconds};
use mux_proto::RunRequest;
use mux_tests::TestEnv;
use serde_json::Value;

use super::without_growth_over;

/// Runs a program that must fail, then one that succeeds. The daemon must not restart or grow.
#[track_caller]
fn fails(env: &TestEnv, timeout: &str, code: &str, kinds: &[&str]) -> Value {
    let mut error = Value::Null;
    without_growth_over(env, 64 << 20, || {
        let output = env.mux(["--json", "run", "--timeout", timeout, "-e", code]);
        assert_ne!(output.code, 0, "{code}: {output:#?}");
        error = output.json()["error"].take();
        assert!(
            kinds.contains(&error["kind"].as_str().unwrap()),
            "{code}: {error:#}"
        );
        assert_eq!(env.result("return 6 * 7"), 42);
    });
    error
}

#[test]
fn endless_and_greedy_programs_fail_alone() {
    let env = TestEnv::new();
    env.result("return 1");
    for (code, kinds) in [
        ("for (;;);", &["timeout"] as &[&str]),
        ("for (;;) await 0;", &["timeout"]),
        (
            "const f = () => Promise.resolve().then(f); await f();",
            &["timeout", "memory"],
        ),
        (
            "try { for (;;); } catch {} finally { for (;;); }",
            &["timeout"],
        ),
        ("/^(a+)+$/.test('a'.repeat(40) + 'b')", &["timeout"]),
        (
            "Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)",
            &["timeout"],
        ),
        ("await new Promise(() => {})", &["deadlock"]),
        ("const f = (n) => f(n + 1) + 1; return f(0)", &["runtime"]),
        (
            "const all = []; for (;;) all.push(new Array(1000).fill({}))",
            &["memory"],
        ),
        (
            "const all = []; for (;;) all.push(new Uint8Array(1 << 24).fill(1))",
            &["memory", "runtime"],
        ),
        ("let s = 'x'; for (;;) s += s;", &["runtime", "memory"]),
        (
            "return new Array(2 ** 32 - 1).fill(0)",
            &["memory", "runtime", "timeout"],
        ),
        ("throw new Error('x'.repeat(1e7))", &["runtime"]),
        ("return 2n ** 100n", &["runtime", "validation"]),
    ] {
        let endless = kinds.contains(&"timeout");
        // Exhausting the memory can take long.
        fails(&env, if endless { "1s" } else { "120s" }, code, kinds);
    }
}

#[test]
fn million_promises_do_not_break_the_worker() {
    let env = TestEnv::new();
    let code = "const all = await Promise.all(Array.from({ length: 1e6 }, async (_, n) => n)); return all.length";
    let output = env.mux(["--json", "run", "-e", code]);
    // In a small heap the run may fail by its memory limit.
    if output.code == 0 {
        assert_eq!(output.json()["result"], 1_000_000);
    } else {
        assert_eq!(output.json()["error"]["kind"], "memory", "{output:#?}");
    }
    assert_eq!(env.result("return 1"), 1);
}

#[test]
fn unhandled_rejections_leave_the_worker_usable() {
    let env = TestEnv::new();
    let code =
        "for (let n = 0; n < 1e4; n++) Promise.reject(new Error(`nobody ${n}`)); return 'done'";
    let output = env.mux(["--json", "run", "-e", code]);
    assert!([0, 1].contains(&output.code), "{output:#?}");
    assert_eq!(env.result("return 1"), 1);
}

#[test]
fn console_flood_is_cut_with_a_note() {
    let env = TestEnv::new();
    env.result("return 1");
    without_growth_over(&env, 32 << 20, || {
        let code = "const line = 'x'.repeat(1000); for (let n = 0; n < 20000; n++) console.log(line); return 'done'";
        let output = env.mux(["run", "-e", code]).ok();
        assert_eq!(output.stdout.trim(), "done");
        assert!(
            output.stderr.len() < 300 << 10,
            "{} bytes",
            output.stderr.len()
        );
        assert!(
            output.stderr.contains("dropped"),
            "{}",
            &output.stderr[output.stderr.len() - 200..]
        );
    });
}

#[test]
fn exceeded_limits_are_named() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return await mux.fix.pid({})");
    for (code, words) in [
        (
            "return 'x'.repeat(15 << 20)",
            "the result is 15728642 bytes, over the limit of 15728640",
        ),
        (
            "for (let n = 0; n < 1001; n++) await mux.fix.echo({ text: '' })",
            "more than 1000 tool calls",
        ),
        (
            "for (let n = 0; n < 10001; n++) setTimeout(() => {}, 0)",
            "10000",
        ),
        (
            "await mux.fix.echo({ text: 'x'.repeat(5 << 20) })",
            "over the limit of 4194304",
        ),
    ] {
        let error = fails(&env, "20s", code, &["limit"]);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn calls_beyond_the_first_thousand_fail_by_limit() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "const ends = await Promise.allSettled(Array.from({ length: 10000 }, (_, n) =>
            mux.fix.add({ a: n, b: 0 })));
        const right = ends.filter((end, n) => end.value?.sum === n).length;
        const refused = ends.filter((end) => end.reason?.kind === 'limit').length;
        return [right, refused]";
    // On a busy machine it takes longer than the 30 s that a program has.
    let output = env.mux(["--json", "run", "--timeout", "120s", "-e", code]);
    assert_eq!(
        output.ok().json()["result"],
        serde_json::json!([1000, 9000])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn daemon_refuses_a_timeout_outside_of_its_range() {
    let env = TestEnv::new();
    env.result("return 1");
    let me = ClientIdentity::new("test", "0");
    let session = mux_client::connect(&env.dirs, &me).await.unwrap();
    for (timeout_ms, accepted) in [
        (999, false),
        (1_000, true),
        (300_000, true),
        (300_001, false),
    ] {
        let request = RunRequest {
            source: "return 1".into(),
            timeout_ms: Some(timeout_ms),
            ..RunRequest::default()
        };
        let started = session.client.start_run(within_seconds(10), request);
        let started = started.await.unwrap();
        assert_eq!(started.is_ok(), accepted, "{timeout_ms}: {started:?}");
        if let Err(error) = started {
            assert_eq!(error.kind.as_str(), "limit");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_of_old_runs_are_freed() {
    let env = TestEnv::new();
    env.result("return 1");
    let first = 6;
    let most = 24;
    let mut before = 0;
    for round in 0..most {
        let me = ClientIdentity::new("test", "0");
        let session = mux_client::connect(&env.dirs, &me).await.unwrap();
        let request = RunRequest {
            source: "return 'x'.repeat(7 << 20)".into(),
            ..RunRequest::default()
        };
        session
            .client
            .start_run(within_seconds(10), request)
            .await
            .unwrap()
            .unwrap();
        // The result is not read, because decoding it would take longer than the rest of the test.
        let ended = loop {
            let status = session
                .client
                .status(within_seconds(10))
                .await
                .unwrap()
                .unwrap();
            if status.runs.running == 0 {
                break status;
            }
        };
        assert_eq!(ended.runs.failed, 0);
        if round == first {
            before = ended.rss_bytes.unwrap();
        }
        if round == most - 1 {
            let grown = ended.rss_bytes.unwrap().saturating_sub(before) >> 20;
            // All results together are 119 MiB.
            assert!(grown < 64, "the daemon grew by {grown} MiB");
        }
    }
}
