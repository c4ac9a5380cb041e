//! Workers that misbehave while they run a program, one after the other on one pool.

use std::{sync::atomic::Ordering, time::Duration};

use mux_sandbox::ProgramLimits;
use mux_tests::pool;
use mux_wire::FaultKind;

use super::{HANG, Rogues, length, peak};

/// The deadline of runs that end only by it.
const SOON: Duration = Duration::from_secs(1);
/// The maximum memory growth by the pool and its pending calls, in MiB.
const MOST: u64 = 400;

const INTERNAL: FaultKind = FaultKind::Internal;

/// Checks that each trick fails with this kind and this text.
async fn all_fail(tricks: &[(&str, FaultKind, &str)]) {
    let rogues = Rogues::named("honest");
    let before = peak();
    let mut problems = Vec::new();
    for (trick, kind, says) in tricks {
        let wall = if *kind == FaultKind::Timeout {
            SOON
        } else {
            HANG
        };
        let (outcome, host) = rogues.run(trick, wall).await;
        match outcome {
            Ok(result) => {
                let shown: String = result.chars().take(80).collect();
                problems.push(format!("{trick}: succeeded with {shown}"));
            }
            Err(fault) => {
                let said = format!(
                    "{} {}",
                    fault.message,
                    fault.hint.clone().unwrap_or_default()
                );
                if fault.kind != *kind || !said.contains(says) {
                    let shown: String = said.chars().take(300).collect();
                    problems.push(format!("{trick}: {:?}: {shown}", fault.kind));
                }
                if length(&fault) > 1 << 16 {
                    problems.push(format!("{trick}: a fault of {} bytes", length(&fault)));
                }
            }
        }
        // The worker's calls are cancelled.
        assert_eq!(host.open.load(Ordering::Relaxed), 0, "{trick}");
        rogues.serves(trick).await;
        let grown = peak() - before;
        if grown > MOST {
            problems.push(format!("after {trick}: {grown} MiB"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn invalid_frames_fail_the_run() {
    const BROKE: &str = "the worker broke the protocol";
    all_fail(&[
        ("garbage", INTERNAL, BROKE),
        ("truncated", INTERNAL, "the worker process ended"),
        ("too-long", INTERNAL, BROKE),
        ("longest", INTERNAL, BROKE),
        ("empty", INTERNAL, BROKE),
        ("unknown", INTERNAL, BROKE),
        ("left-over", INTERNAL, BROKE),
        ("promises-a-string", INTERNAL, BROKE),
        ("slowly", FaultKind::Timeout, "longer than its 1 s"),
    ])
    .await;
}

#[tokio::test]
async fn frames_out_of_order_fail_the_run() {
    const UNEXPECTED: &str = "unexpected frame during a run";
    all_fail(&[
        ("says-hello", INTERNAL, UNEXPECTED),
        ("says-ready", INTERNAL, UNEXPECTED),
        ("accepts-twice", INTERNAL, UNEXPECTED),
        ("says-checked", INTERNAL, UNEXPECTED),
        ("skips-a-call", INTERNAL, "call 5 in place of 0"),
        ("calls-twice", INTERNAL, "call 0 in place of 1"),
        ("calls-the-last", INTERNAL, "call 4294967295 in place of 0"),
        ("stays", FaultKind::Timeout, "no call was pending"),
    ])
    .await;
}

#[tokio::test]
async fn worker_ends_are_reported_by_cause() {
    all_fail(&[
        ("hangs-up", INTERNAL, "only this run is lost"),
        // A child process keeps its pipes open.
        ("bequeaths", FaultKind::Timeout, "longer than its 1 s"),
        ("raises SIGABRT", INTERNAL, "signal: 6"),
        ("raises SIGSEGV", INTERNAL, "signal: 11"),
        ("raises SIGKILL", INTERNAL, "signal: 9"),
        ("raises SIGSYS", INTERNAL, "system call"),
        ("raises SIGXCPU", FaultKind::Limit, "processor time"),
        ("raises SIGSTOP", FaultKind::Timeout, "longer than its 1 s"),
        ("says-and-exits nonsense", INTERNAL, "nonsense"),
        (
            "says-and-exits memory allocation of 9 bytes failed",
            FaultKind::Memory,
            "64 MiB of heap",
        ),
        (
            "says-and-exits has overflowed its stack",
            FaultKind::Limit,
            "nests deeper",
        ),
    ])
    .await;
}

#[tokio::test]
async fn worker_exit_codes_are_reported() {
    let rogues = Rogues::named("honest");
    for code in 0..=255 {
        let (outcome, _) = rogues.run(&format!("exits {code}"), HANG).await;
        let fault = outcome.unwrap_err();
        if code == mux_wire::EXIT_OUT_OF_MEMORY {
            assert_eq!(fault.kind, FaultKind::Memory, "{code}: {fault:?}");
        } else {
            assert_eq!(fault.kind, INTERNAL, "{code}: {fault:?}");
            assert!(fault.message.contains(&format!(": {code}")), "{fault:?}");
        }
    }
    rogues.serves("all codes").await;
}

#[tokio::test]
async fn output_floods_fail_the_run() {
    all_fail(&[
        ("prints", INTERNAL, "console output of more than"),
        ("prints-nothing", INTERNAL, "console output of more than"),
        ("emits-much", INTERNAL, "emitted parts of more than"),
        ("emits-nothing", INTERNAL, "emitted parts of more than"),
        ("gives-much", INTERNAL, "a result of"),
        ("complains", FaultKind::Timeout, "longer than its 1 s"),
        ("complains-in-lines", INTERNAL, "no | no"),
    ])
    .await;
}

#[tokio::test]
async fn call_floods_end_by_timeout() {
    all_fail(&[
        (
            "calls-with-much",
            FaultKind::Timeout,
            "it was waiting for fix.hang",
        ),
        (
            "calls-with-too-much",
            FaultKind::Timeout,
            "longer than its 1 s",
        ),
        (
            "calls-long-names",
            FaultKind::Timeout,
            "longer than its 1 s",
        ),
        // The worker does not read the errors of its calls, which blocks its next calls.
        ("calls-and-calls", FaultKind::Timeout, "longer than its 1 s"),
        (
            "calls-and-hears-nothing",
            FaultKind::Timeout,
            "it was waiting for fix.large",
        ),
    ])
    .await;
}

#[tokio::test]
async fn nothing_after_the_result_counts() {
    let rogues = Rogues::named("honest");
    for trick in [
        "ends-twice",
        "ends-and-calls",
        "ends-and-raves",
        "ends-in-a-call",
        "bequeaths-and-goes-on",
    ] {
        let (outcome, host) = rogues.run(trick, HANG).await;
        assert_eq!(outcome.as_deref(), Ok("1"), "{trick}");
        let calls = host.calls.load(Ordering::Relaxed);
        assert_eq!(host.open.load(Ordering::Relaxed), 0, "{trick}");
        if trick == "ends-in-a-call" {
            let printed = host.printed.lock().unwrap().clone();
            assert!(
                printed.contains("before fix.hang, fix.hang, fix.hang had ended"),
                "{printed}"
            );
            assert_eq!(calls, 3);
        } else {
            assert_eq!(calls, 0, "{trick}");
        }
        rogues.serves(trick).await;
    }
}

#[tokio::test]
async fn long_fault_is_truncated() {
    let rogues = Rogues::named("honest");
    let (outcome, _) = rogues.run("blames", HANG).await;
    let fault = outcome.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Runtime);
    assert!(length(&fault) < 1 << 17, "{} bytes", length(&fault));
    rogues.serves("blames").await;
}

#[tokio::test]
async fn check_returns_a_limited_number_of_faults() {
    let rogues = Rogues::named("honest");
    let turn = pool::turn("test", 1);
    let limits = ProgramLimits::default();
    let check = rogues.pool.check("blames".into(), &turn, &limits);
    let checked = tokio::time::timeout(HANG, check).await.unwrap().unwrap();
    for faults in [&checked.errors, &checked.warnings] {
        assert_eq!(faults.len(), 100);
        assert!(faults.iter().all(|fault| length(fault) < 1 << 15));
    }
    rogues.serves("a check").await;
}

/// Nine bytes of such a frame take a hundred in the daemon.
#[tokio::test]
async fn check_with_endless_faults_breaks_the_protocol() {
    let rogues = Rogues::named("honest");
    let turn = pool::turn("test", 1);
    let limits = ProgramLimits::default();
    let before = peak();
    let check = rogues
        .pool
        .check("blames-without-end".into(), &turn, &limits);
    let refused = tokio::time::timeout(HANG, check).await.unwrap();
    let fault = refused.unwrap_err();
    assert_eq!(fault.kind, INTERNAL);
    assert!(fault.message.contains("cannot be decoded"), "{fault:?}");
    assert!(peak() - before < 64, "{} MiB", peak() - before);
    rogues.serves("a check").await;
}

/// A worker that one owner's program has compromised must not see a program of another owner.
#[tokio::test]
async fn worker_that_checked_for_one_owner_is_not_reused_for_another() {
    let rogues = Rogues::named("honest");
    let limits = ProgramLimits::default();
    let mut seen = std::collections::HashMap::new();
    for owner in ["one", "two", "three", "four", "five", "six"] {
        let turn = pool::turn(owner, 1);
        let check = rogues.pool.check("names-itself".into(), &turn, &limits);
        let checked = tokio::time::timeout(HANG, check).await.unwrap().unwrap();
        let worker = checked.errors[0].message.clone();
        let before = seen.insert(worker, owner);
        assert_eq!(before, None, "it served {owner}, too");
    }
}
