//! How process trees end: stopped, dropped, left behind, with their daemon, or with their keeper.
//!
//! Invariant: after each of these, no process of the tree is left.

use std::{
    fs,
    io::Write,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
    time::Duration,
};

use mux_keeper::{ChildExit, SpawnError};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::timeout;

use crate::place::{MUXD, PATIENCE, PROMISED, Place, ended};

/// Ignores end of file and SIGTERM, has a child that does the same, a child that also left the process group, and a
/// child that also left its parent and its environment. All hold the witness, and each says `ready`.
const OBSTINATE: &str = r#"
    exec 3>"$WITNESS"
    export STAY='trap "" TERM; echo ready >&3; while :; do sleep 1000; done'
    sh -c "$STAY" &
    setsid sh -c "$STAY" &
    (setsid env -i PATH="$PATH" sh -c "$STAY" &)
    eval "$STAY""#;

/// Leaves one process behind that only its environment identifies.
const LEAVES_ORPHAN: &str = r#"
    exec 3>"$WITNESS"
    (setsid sh -c 'trap "" TERM; echo ready >&3; while :; do sleep 1000; done' &)
    exec 3>&-
    cat"#;

#[tokio::test]
async fn stop_ends_the_whole_tree_of_a_child_that_ignores_it() {
    let place = Place::new("stop");
    let keeper = place.keeper().await;
    // Without the process that lost its environment: that one ends with the keeper.
    let script = OBSTINATE.replace("env -i PATH=\"$PATH\"", "");
    let child = keeper.spawn(place.sh(&script)).await.unwrap();
    let witness = place.witness(4).await;
    let exit = child.exit_watch();
    child.stop(Duration::from_millis(50)).await;
    assert_eq!(exit.borrow().unwrap().signal, Some(9));
    // No process holds the pipe when `stop` returns. The limit is for reading that.
    ended(witness, Duration::from_millis(100)).await;
}

#[tokio::test]
async fn stop_does_not_kill_a_child_that_exits_by_itself() {
    let place = Place::new("gentle");
    let keeper = place.keeper().await;
    let child = keeper.spawn(place.sh("cat; exit 7")).await.unwrap();
    let exit = child.exit_watch();
    child.stop(PATIENCE).await;
    assert_eq!(exit.borrow().unwrap().code, Some(7));
}

#[tokio::test]
async fn a_dropped_child_is_killed_with_its_tree() {
    let place = Place::new("drop");
    let keeper = place.keeper().await;
    let child = keeper.spawn(place.sh(LEAVES_ORPHAN)).await.unwrap();
    let witness = place.witness(1).await;
    drop(child);
    ended(witness, PROMISED).await;
}

#[tokio::test]
async fn leftover_process_of_a_child_ends_after_it() {
    let place = Place::new("leftover");
    let keeper = place.keeper().await;
    let mut child = keeper.spawn(place.sh(LEAVES_ORPHAN)).await.unwrap();
    let witness = place.witness(1).await;
    drop(child.stdin.take());
    assert_eq!(child.wait().await.code, Some(0));
    ended(witness, PROMISED).await;
}

/// A frame as a daemon sends it.
fn spawn(place: &Place, script: &str) -> Vec<u8> {
    let spawn = serde_json::json!({ "spawn": {
        "id": 1,
        "program": "/bin/sh",
        "args": ["-c", script],
        "env": [["PATH", "/usr/bin:/bin"], ["WITNESS", place.path("witness")]],
        "cwd": "/",
        "tag": "test",
    }});
    let body = serde_json::to_vec(&spawn).unwrap();
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_le_bytes()[..], &body].concat()
}

/// A keeper sees the death of its daemon as the end of the socket only, so the test sends the frames itself and closes
/// the socket.
#[tokio::test]
async fn nothing_outlives_a_killed_daemon() {
    let place = Place::new("killed-daemon");
    let (mut daemon, keepers) = UnixStream::pair().unwrap();
    let mut keeper = Command::new(MUXD)
        .arg("keeper")
        .arg(place.path("lock"))
        .stdin(OwnedFd::from(keepers))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    daemon.write_all(&spawn(&place, OBSTINATE)).unwrap();
    let witness = place.witness(4).await;
    // The keeper ignores signals that a service manager or a terminal sends to all processes.
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        kill(Pid::from_raw(keeper.id().cast_signed()), signal).unwrap();
    }
    drop(daemon);
    let exit = tokio::task::spawn_blocking(move || keeper.wait().unwrap());
    let exit = timeout(PROMISED, exit)
        .await
        .expect("the keeper ends in time")
        .unwrap();
    assert!(exit.success());
    ended(witness, Duration::from_millis(100)).await;
}

#[tokio::test]
async fn close_ends_the_children_and_reports_their_exit() {
    let place = Place::new("close");
    let keeper = place.keeper().await;
    let child = keeper.spawn(place.sh(OBSTINATE)).await.unwrap();
    let witness = place.witness(4).await;
    timeout(PROMISED, keeper.clone().close())
        .await
        .expect("in time");
    ended(witness, Duration::from_millis(100)).await;
    assert_eq!(child.wait().await.signal, Some(9));
    assert!(keeper.is_gone());
}

#[tokio::test]
async fn a_keeper_killed_with_its_guard_is_noticed_and_leaves_nothing() {
    let place = Place::new("killed-keeper");
    let keeper = place.keeper().await;
    let script = OBSTINATE.replace("env -i PATH=\"$PATH\"", "");
    let child = keeper.spawn(place.sh(&script)).await.unwrap();
    let witness = place.witness(4).await;
    kill_both(keeper.pid());
    assert_eq!(child.wait().await, ChildExit::LOST);
    ended(witness, PROMISED).await;
    keeper.gone().await;
    let error = keeper.spawn(place.sh("true")).await.unwrap_err();
    assert!(matches!(error, SpawnError::Keeper(_)), "{error}");
    let next = place.keeper().await;
    assert!(next.spawn(place.sh("true")).await.is_ok());
}

/// The keeper itself, a child of the guard, whose pid the daemon knows.
fn below(guard: u32) -> Pid {
    let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap();
    Pid::from_raw(children.trim().parse().unwrap())
}

/// Kills the keeper first, while its guard is stopped.
fn kill_both(guard: u32) {
    let keeper = below(guard);
    let guard = Pid::from_raw(guard.cast_signed());
    for (pid, signal) in [
        (guard, Signal::SIGSTOP),
        (keeper, Signal::SIGKILL),
        (guard, Signal::SIGKILL),
    ] {
        kill(pid, signal).unwrap();
    }
}

#[tokio::test]
async fn guard_of_a_killed_keeper_ends_even_processes_without_their_environment() {
    let place = Place::new("guarded-keeper");
    let keeper = place.keeper().await;
    let child = keeper.spawn(place.sh(OBSTINATE)).await.unwrap();
    let witness = place.witness(4).await;
    kill(below(keeper.pid()), Signal::SIGKILL).unwrap();
    assert_eq!(child.wait().await, ChildExit::LOST);
    keeper.gone().await;
    ended(witness, Duration::from_millis(100)).await;
}

#[tokio::test]
async fn keeper_without_its_guard_ends_all_children_and_is_replaced() {
    let place = Place::new("killed-guard");
    let keeper = place.keeper().await;
    let child = keeper.spawn(place.sh(OBSTINATE)).await.unwrap();
    let witness = place.witness(4).await;
    let inner = below(keeper.pid());
    kill(Pid::from_raw(keeper.pid().cast_signed()), Signal::SIGKILL).unwrap();
    ended(witness, PROMISED).await;
    keeper.gone().await;
    assert_eq!(child.wait().await.signal, Some(9));
    assert_eq!(
        kill(inner, None),
        Err(nix::errno::Errno::ESRCH),
        "not even a zombie"
    );
    assert!(keeper.spawn(place.sh("true")).await.is_err());
    assert!(place.keeper().await.spawn(place.sh("true")).await.is_ok());
}

/// A daemon, its keeper and the guard are killed at one instant: the next keeper ends their processes.
#[tokio::test]
async fn next_keeper_ends_leftover_processes_before_it_starts_any() {
    let place = Place::new("remains");
    let (mut daemon, keepers) = UnixStream::pair().unwrap();
    let mut guard = Command::new(MUXD)
        .arg("keeper")
        .arg(place.path("lock"))
        .stdin(OwnedFd::from(keepers))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Without the process that lost its environment: it cannot be recognized any more.
    let script = OBSTINATE.replace("env -i PATH=\"$PATH\"", "");
    daemon.write_all(&spawn(&place, &script)).unwrap();
    let witness = place.witness(4).await;
    kill_both(guard.id());
    guard.wait().unwrap();
    let next = place.keeper().await;
    assert!(next.spawn(place.sh("true")).await.is_ok());
    ended(witness, Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_new_keeper_starts_nothing_before_the_old_one_has_ended() {
    let place = Place::new("succession");
    let old = place.keeper().await;
    let _child = old.spawn(place.sh(OBSTINATE)).await.unwrap();
    let witness = place.witness(4).await;
    let new = place.keeper().await;
    let (spawned, ()) = tokio::join!(
        async {
            let spawned = new.spawn(place.sh("cat")).await;
            ended(witness, Duration::from_millis(100)).await;
            spawned
        },
        old.close(),
    );
    assert!(spawned.is_ok());
}
