//! Remote servers that send too much.

use mux_tests::{TestEnv, process};

use super::{Remote, info, marking};

const MIB: u64 = 1 << 20;

#[test]
fn endless_response_ends_its_session_and_daemon_memory_stays_bounded() {
    for fault in ["endless-body", "endless-event"] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "fix", &["--fault", fault, "--times", "1"]);
        let config = format!("{}{}", remote.entry("fix"), env.fixture("other", &[]));
        env.write_config(&config);
        env.result("return await Promise.all([mux.fix.pid({}), mux.other.pid({})])");
        let daemon = env.daemon().unwrap();
        let before = process::resident_bytes(daemon);
        let mark = env.path("mark");
        let error = env.error(&marking(&mark));
        assert_eq!(error["kind"], "unknown_outcome", "{fault}: {error:#}");
        assert!(
            error["message"].as_str().unwrap().contains("16777216"),
            "{error:#}"
        );
        assert_eq!(env.result(&marking(&mark)), "done", "{fault}");
        assert_eq!(env.daemon(), Some(daemon));
        let grown = process::resident_bytes(daemon).saturating_sub(before);
        assert!(grown < 64 * MIB, "{fault}: grown by {} MiB", grown >> 20);
        assert_eq!(info(&env, "fix")["starts"], 2, "{fault}");
        assert_eq!(info(&env, "other")["starts"], 1, "{fault}");
    }
}

#[test]
fn concurrent_endless_responses_stay_within_the_memory_bound() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &["--fault", "endless-body"]);
    env.write_config(&format!("{}calls_at_once = 32\n", remote.entry("fix")));
    env.result("return await mux.fix.pid({})");
    let daemon = env.daemon().unwrap();
    let kinds = env.result(
        "const call = () => mux.fix.side_effect({ file: '/dev/null', line: 'x' }).catch((error) => error.kind);
         return await Promise.all(Array.from({ length: 32 }, call))",
    );
    let kinds = kinds.as_array().unwrap();
    assert!(
        kinds.iter().all(|kind| kind == "unknown_outcome"),
        "{kinds:?}"
    );
    let peak = process::peak_bytes(daemon);
    assert!(peak < 256 * MIB, "{} MiB at most", peak >> 20);
}

#[test]
fn long_response_is_accepted_and_one_over_the_limit_is_refused() {
    for flags in [&[][..], &["--json"], &["--sse"]] {
        let env = TestEnv::new();
        let remote = Remote::start(&env, "fix", flags);
        env.write_config(&remote.entry("fix"));
        let code = |bytes| format!("return (await mux.fix.blob({{ bytes: {bytes} }})).length");
        assert_eq!(env.result(&code(3 * MIB)), 3 * MIB, "{flags:?}");
        let error = env.error(&code(17 * MIB));
        assert_eq!(error["kind"], "unknown_outcome", "{flags:?}: {error:#}");
        assert_eq!(env.result(&code(1)), 1, "{flags:?}");
    }
}

#[test]
fn two_hundred_concurrent_calls_all_get_their_responses() {
    let env = TestEnv::new();
    let remote = Remote::start(&env, "fix", &[]);
    env.write_config(&format!("{}calls_at_once = 256\n", remote.entry("fix")));
    let sums = env.result(
        "const call = (n) => mux.fix.add({ a: n, b: 1 });
         const all = await Promise.all(Array.from({ length: 200 }, (_, n) => call(n)));
         return all.every(({ sum }, n) => sum === n + 1)",
    );
    assert_eq!(sums, true);
    assert_eq!(remote.calls("add"), 200);
}
