//! Workers that are wrong from their first frame on.

use mux_wire::Kind;

use super::{HANG, Rogues};

/// The run says what is wrong; when the program file is a good one again, the next run is served.
async fn check(name: &str, kind: Kind, says: &str) {
    let rogues = Rogues::named(name);
    let (outcome, host) = rogues.run("honest", HANG).await;
    let fault = outcome.unwrap_err();
    assert_eq!(fault.kind, kind, "{name}: {fault:?}");
    assert!(fault.message.contains(says), "{name}: {fault:?}");
    assert!(fault.hint.is_some(), "{name}: {fault:?}");
    assert_eq!(host.printed.lock().unwrap().as_str(), "");
    rogues.reform();
    // Those that were started before stand ready still, and may be tried first.
    for _ in 0..5 {
        if rogues.run("honest", HANG).await.0.is_ok() {
            return;
        }
    }
    rogues.serves(name).await;
}

#[tokio::test]
async fn silence() {
    check("silent", Kind::Unavailable, "not ready within 2s").await;
}

#[tokio::test]
async fn greetings_that_are_none() {
    check("gone", Kind::Unavailable, "exit status: 3").await;
    check("garbage", Kind::Unavailable, "broke the protocol").await;
    check("too-long", Kind::Unavailable, "broke the protocol").await;
    check("other-build", Kind::Unavailable, "of another build").await;
    check("ready-first", Kind::Unavailable, "unexpected frame Ready").await;
    check("done-first", Kind::Unavailable, "unexpected frame Done").await;
    check("hello-twice", Kind::Unavailable, "unexpected frame Hello").await;
}

#[tokio::test]
async fn workers_that_do_not_take_a_program() {
    check("ready-twice", Kind::Internal, "unexpected frame Ready").await;
    check("leaves-at-a-program", Kind::Internal, "exit status: 4").await;
}

/// It says that it has the program before it was given one. It is believed, and does no harm.
#[tokio::test]
async fn a_worker_that_is_too_eager_fails_its_run() {
    check("accepts-unasked", Kind::Internal, "unexpected frame").await;
}
