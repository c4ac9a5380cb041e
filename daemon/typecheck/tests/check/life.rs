//! The lifecycle of the compiler: shared, killed, idle, closed.

use std::{sync::Arc, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::setting::Setting;

fn pid(setting: &Setting) -> Pid {
    let pid = setting.checker.status().pid.expect("a compiler runs");
    Pid::from_raw(i32::try_from(pid).unwrap())
}

#[tokio::test]
async fn concurrent_checks_have_their_own_results() {
    let setting = Arc::new(Setting::new());
    let mut checks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let setting = Arc::clone(&setting);
        checks.spawn(async move {
            let found = setting.check(&format!("return nope{number}")).await;
            assert_eq!(found.len(), 1);
            assert!(
                found[0].message.contains(&format!("'nope{number}'")),
                "{found:?}"
            );
        });
    }
    while let Some(done) = checks.join_next().await {
        done.unwrap();
    }
    let status = setting.checker.status();
    assert_eq!((status.checks, status.cached), (50, 0), "{status:?}");
    assert!(
        status.rss_bytes.is_none_or(|rss| rss > 1 << 20),
        "{status:?}"
    );
}

#[tokio::test]
async fn same_program_is_checked_once() {
    let setting = Arc::new(Setting::new());
    let mut checks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let setting = Arc::clone(&setting);
        checks.spawn(async move { setting.check("return nope").await });
    }
    while let Some(found) = checks.join_next().await {
        assert_eq!(found.unwrap().len(), 1);
    }
    assert_eq!(setting.check("return nope").await.len(), 1);
    let status = setting.checker.status();
    assert_eq!((status.checks, status.cached), (1, 20), "{status:?}");
}

#[tokio::test]
async fn check_continues_when_the_first_caller_is_gone() {
    let setting = Setting::new();
    for source in ["return nope", "return nope // 2"] {
        let first = setting.try_check(source);
        tokio::select! {
            biased;
            _ = first => panic!("it cannot be done yet"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(setting.check(source).await.len(), 1);
    }
    assert_eq!(setting.checker.status().checks, 2);
}

#[tokio::test]
async fn check_survives_the_death_of_the_compiler() {
    let setting = Arc::new(Setting::new());
    setting.is_right("return 1").await;
    let first = pid(&setting);
    // A long check, during which the compiler is killed.
    let long = format!("return [nope, {}]", "{ a: 1, b: [2] },".repeat(20_000));
    let asking = Arc::clone(&setting);
    let check = tokio::spawn(async move { asking.check(&long).await });
    while setting.checker.status().checks < 2 {
        tokio::task::yield_now().await;
    }
    kill(first, Signal::SIGKILL).unwrap();
    assert_eq!(check.await.unwrap().len(), 1);
    assert_ne!(pid(&setting), first);
    // The compiler is killed while idle.
    kill(pid(&setting), Signal::SIGKILL).unwrap();
    setting.is_right("return 2").await;
}

#[tokio::test]
async fn check_ends_an_idle_compiler_and_starts_another() {
    let setting = Setting::with(|settings| settings.idle = Duration::from_millis(50));
    for number in 0..3 {
        setting.is_right(&format!("return {number}")).await;
        setting.ended().await;
        assert_eq!(setting.checker.status().pid, None);
    }
}

#[tokio::test]
async fn checker_can_be_preloaded_and_closed() {
    let setting = Setting::new();
    setting.checker.preload_types(&setting.types);
    while setting.checker.status().pid.is_none() {
        tokio::task::yield_now().await;
    }
    setting.is_right("return 1").await;
    let child = pid(&setting);
    setting.checker.close().await;
    assert_eq!(setting.checker.status().pid, None);
    assert!(kill(child, None).is_err(), "it is gone and reaped");
    let closed = setting.try_check("return 2").await.unwrap_err();
    assert!(closed.to_string().contains("closed"), "{closed}");
    setting.checker.close().await;
}

#[tokio::test]
async fn dropped_checker_leaves_no_compiler_running() {
    let setting = Setting::new();
    setting.is_right("return 1").await;
    let child = pid(&setting);
    drop(setting);
    // Killed, and reaped by the runtime.
    let gone = async {
        while kill(child, None).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), gone)
        .await
        .expect("it ends");
}
