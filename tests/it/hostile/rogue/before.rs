//! Workers that misbehave from their first frame on.

use mux_wire::FaultKind;

use super::{HANG, Rogues};

/// Checks that the run fails with this error, and that runs succeed again once the worker program is fixed.
async fn check(name: &str, kind: FaultKind, says: &str) {
    let rogues = Rogues::named(name);
    let (outcome, host) = rogues.run("honest", HANG).await;
    let fault = outcome.unwrap_err();
    assert_eq!(fault.kind, kind, "{name}: {fault:?}");
    assert!(fault.message.contains(says), "{name}: {fault:?}");
    assert!(fault.hint.is_some(), "{name}: {fault:?}");
    assert_eq!(host.printed.lock().unwrap().as_str(), "");
    rogues.reform();
    // Workers that were started before may be used first.
    for _ in 0..5 {
        if rogues.run("honest", HANG).await.0.is_ok() {
            return;
        }
    }
    rogues.serves(name).await;
}

#[tokio::test]
async fn silent_worker_fails_its_run() {
    check("silent", FaultKind::Unavailable, "not ready within 2s").await;
}

#[tokio::test]
async fn invalid_handshake_fails_the_run() {
    check("gone", FaultKind::Unavailable, "exit status: 3").await;
    check("garbage", FaultKind::Unavailable, "broke the protocol").await;
    check("too-long", FaultKind::Unavailable, "broke the protocol").await;
    check("other-build", FaultKind::Unavailable, "of another build").await;
    check(
        "ready-first",
        FaultKind::Unavailable,
        "unexpected frame Ready",
    )
    .await;
    check(
        "done-first",
        FaultKind::Unavailable,
        "unexpected frame Done",
    )
    .await;
    check(
        "hello-twice",
        FaultKind::Unavailable,
        "unexpected frame Hello",
    )
    .await;
}

#[tokio::test]
async fn worker_that_does_not_accept_the_program_fails_its_run() {
    check("ready-twice", FaultKind::Internal, "unexpected frame Ready").await;
    check("leaves-at-a-program", FaultKind::Internal, "exit status: 4").await;
}

/// A worker that accepts a program before it was sent one fails only its run.
#[tokio::test]
async fn worker_that_accepts_too_early_fails_its_run() {
    check("accepts-unasked", FaultKind::Internal, "unexpected frame").await;
}
