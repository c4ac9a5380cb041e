//! Calls that get no answer, or the answer of another call.

use mux_tests::{TestEnv, process};
use serde_json::json;

use super::{PROMISE, calls_of, server};

/// A home with a fixture server `fix` that logs its calls, and the well-behaved server `other`.
fn with_log(more: &str) -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new();
    let log = env.path("calls");
    let fix = env.fixture("fix", &["--call-log", log.to_str().unwrap()]);
    env.write_config(&format!("{fix}{more}{}", env.fixture("other", &[])));
    (env, log)
}

#[test]
fn server_death_in_a_call_fails_it_once_and_restarts_for_the_next() {
    for tool in ["die_before", "die_mid"] {
        let (env, log) = with_log("");
        let mark = env.path("mark");
        let other = env.result("return await mux.other.pid({})");
        let code = format!("return await mux.fix.{tool}({})", json!({ "file": mark }));
        let error = env.error(&code);
        assert_eq!(error["kind"], "unknown_outcome", "{tool}: {error:#}");
        assert_eq!(error["path"], format!("fix.{tool}"));
        assert_eq!(error["recoverable"], false);
        assert!(
            error["message"].as_str().unwrap().contains("exit code 70"),
            "{error:#}"
        );
        assert!(
            error["hint"].as_str().unwrap().contains("may or may not"),
            "{error:#}"
        );

        assert_eq!(
            env.result("return (await mux.fix.add({ a: 1, b: 2 })).sum"),
            3
        );
        assert_eq!(std::fs::read_to_string(&mark).unwrap(), "mark\n", "{tool}");
        assert_eq!(calls_of(&log, tool), 1);
        assert_eq!(env.starts("fix").len(), 2);
        assert_eq!(server(&env, "fix")["starts"], 2);
        assert_eq!(
            env.result("return await mux.other.pid({})"),
            other,
            "{tool}"
        );
    }
}

#[test]
fn mux_call_exits_with_6_if_the_server_dies_in_the_call() {
    let (env, log) = with_log("");
    env.mux(["call", "fix.die_before"])
        .fails(6, &["unknown_outcome", "fix.die_before"]);
    assert_eq!(calls_of(&log, "die_before"), 1);
    env.mux(["call", "fix.echo", "text=back"]).ok();
}

#[test]
fn answer_counts_though_the_server_dies_right_after_it() {
    let (env, log) = with_log("");
    let code = "return [await mux.fix.die_after({}), await mux.fix.echo({ text: 'next' })]";
    // The second call finds the session open, closing or closed.
    for _ in 0..5 {
        let output = env.mux(["--json", "run", "-e", code]);
        match output.code {
            0 => assert_eq!(output.json()["result"], json!(["the last words", "next"])),
            1 | 3 | 6 => {
                let error = output.json()["error"].take();
                assert_eq!(error["path"], "fix.echo", "{output:#?}");
                assert!(
                    ["unknown_outcome", "unavailable"].contains(&error["kind"].as_str().unwrap())
                );
            }
            _ => panic!("{output:#?}"),
        }
    }
    assert_eq!(calls_of(&log, "die_after"), 5);
    assert_eq!(
        env.result("return await mux.fix.echo({ text: 'now' })"),
        "now"
    );
}

#[test]
fn killed_idle_server_is_restarted_by_the_next_call() {
    let (env, _) = with_log("");
    for round in 1..=5 {
        let pid = env.result("return await mux.fix.pid({})");
        let pid: i32 = pid.as_str().unwrap().parse().unwrap();
        assert_eq!(env.starts("fix").last(), Some(&pid));
        process::kill(pid);
        assert!(process::wait_for_end(pid, PROMISE));
        assert_eq!(env.starts("fix").len(), round);
    }
    assert_eq!(server(&env, "other")["starts"], 0);
}

#[test]
fn server_death_fails_sent_calls_and_queued_calls_use_the_next_session() {
    let (env, log) = with_log("");
    // Eight calls at once are sent to one server. The others wait in the daemon.
    let code = "const sent = Array.from({ length: 8 }, () => mux.fix.hang({}));
         return (await Promise.allSettled(sent)).map((end) => end.reason.kind)";
    let sent = env.begin(["--json", "run", "-e", code]);
    env.until_called(&log, "hang", 8, "other.pid");
    // The daemon handles the calls of a program in order: when the last one is answered, the others wait.
    let code = "const waiting = Array.from({ length: 20 }, (_, n) => mux.fix.add({ a: n, b: 0 }));
         await mux.other.pid({});
         return (await Promise.all(waiting)).map((end) => end.sum)";
    let calls = || server(&env, "other")["calls"].as_u64().unwrap();
    let before = calls();
    let waiting = env.begin(["--json", "run", "-e", code]);
    while calls() == before {}
    process::kill(env.starts("fix")[0]);
    let result = |run: mux_tests::Running| run.wait().ok().json()["result"].take();
    assert_eq!(result(sent), json!(vec!["unknown_outcome"; 8]));
    assert_eq!(result(waiting), json!((0..20).collect::<Vec<_>>()));
    assert_eq!((calls_of(&log, "hang"), calls_of(&log, "add")), (8, 20));
    assert_eq!(env.starts("fix").len(), 2);
}

#[test]
fn unanswered_call_times_out_by_name_and_is_cancelled_at_the_server() {
    let (env, log) = with_log("call_timeout = \"1s\"\n");
    for tool in ["hang", "wrong_id"] {
        let error = env.error(&format!("return await mux.fix.{tool}({{}})"));
        assert_eq!(error["kind"], "timeout", "{error:#}");
        assert_eq!(error["path"], format!("fix.{tool}"));
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains(&format!("fix.{tool} did not answer within 1s"))
        );
        assert!(error["hint"].as_str().unwrap().contains("call_timeout"));
    }
    env.mux(["call", "fix.hang"])
        .fails(124, &["did not answer within 1s"]);
    env.mux(["call", "fix.hang", "--timeout", "300ms"])
        .fails(124, &["within 300ms"]);
    // The session is open, and got all four cancellations.
    let cancelled = env.result("return await mux.fix.cancelled({})");
    assert_eq!(cancelled.as_array().unwrap().len(), 4, "{cancelled}");
    assert_eq!((calls_of(&log, "hang"), calls_of(&log, "wrong_id")), (3, 1));
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn call_with_zero_timeout_is_not_sent() {
    let (env, log) = with_log("");
    env.mux(["call", "fix.hang", "--timeout", "0s"])
        .fails(1, &["validation", "a timeout of 0"]);
    assert_eq!(calls_of(&log, "hang"), 0);
    assert!(
        env.starts("fix").is_empty(),
        "not even the server is started"
    );
}

#[test]
fn run_timeout_names_the_pending_call_and_cancels_it() {
    let (env, _) = with_log("");
    let output = env.mux(["run", "--timeout", "1s", "-e", "await mux.fix.hang({})"]);
    output.fails(124, &["longer than its 1 s", "waiting for fix.hang"]);
    let cancelled = env.result("return await mux.fix.cancelled({})");
    assert_eq!(cancelled.as_array().unwrap().len(), 1);
}

#[test]
fn forty_concurrent_calls_on_one_session_get_their_own_answers() {
    let (env, _) = with_log("");
    let code = "const nonce = (n) => `${n}-${'x'.repeat(n * 50)}`;
        const calls = Array.from({ length: 40 }, async (_, n) => {
            if (n % 4 === 0) await mux.fix.sleep({ ms: (40 - n) * 3 });
            const text = await mux.fix.echo({ text: nonce(n) });
            const { value } = await mux.fix.echo_json({ value: { n } });
            return text === nonce(n) && value.n === n;
        });
        return (await Promise.all(calls)).filter(Boolean).length";
    assert_eq!(env.result(code), 40);
    assert_eq!(env.starts("fix").len(), 1);
}

#[test]
fn concurrent_runs_share_one_session_and_get_their_own_answers() {
    let (env, _) = with_log("");
    let runs: Vec<_> = (0..12)
        .map(|n| {
            let code = format!(
                "const all = await Promise.all(Array.from({{ length: 20 }}, (_, i) =>
                     mux.fix.echo({{ text: `{n}/${{i}}` }})));
                 return all.every((text, i) => text === `{n}/${{i}}`)"
            );
            env.begin(["--json", "run", "-e", &code])
        })
        .collect();
    for run in runs {
        assert_eq!(run.wait().ok().json()["result"], true);
    }
    assert_eq!(env.starts("fix").len(), 1);
    assert_eq!(server(&env, "fix")["calls"], 240);
}

#[test]
fn repeated_server_deaths_cause_no_wrong_answer() {
    let env = TestEnv::new();
    let log = env.path("calls");
    let args = [
        "--call-log",
        log.to_str().unwrap(),
        "--die-after-calls",
        "7",
    ];
    env.write_config(&env.fixture("fix", &args));
    // Each answer is right or unknown, and the server got each call at most once.
    let code = "const seen = { right: 0, unknown: 0, unsent: 0 };
        for (let n = 0; n < 60; n++) {
            try {
                const { sum } = await mux.fix.add({ a: n, b: 1 });
                if (sum !== n + 1) throw new Error(`wrong answer ${sum} to ${n}`);
                seen.right++;
            } catch (error) {
                if (error.kind === 'unknown_outcome') seen.unknown++;
                else if (error.kind === 'unavailable') seen.unsent++;
                else throw error;
            }
        }
        return seen";
    let seen = env.result(code);
    let count = |name: &str| usize::try_from(seen[name].as_u64().unwrap()).unwrap();
    assert!(count("right") >= 50, "{seen}");
    let arrived = calls_of(&log, "add");
    assert!(
        arrived >= count("right") && arrived <= count("right") + count("unknown"),
        "{arrived} of {seen}"
    );
    let calls = std::fs::read_to_string(&log).unwrap();
    for n in 0..60 {
        let times = calls.matches(&format!("{{\"a\":{n},\"b\":1}}")).count();
        assert!(times <= 1, "call {n} was made {times} times");
    }
}
