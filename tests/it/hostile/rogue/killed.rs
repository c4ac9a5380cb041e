//! Many killed workers, which start fast because they have no engine. Number 83.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use mux_tests::process;
use mux_wire::FaultKind;

use super::{super::killed::kill, HANG, Rogues};

const KILLS: usize = 1000;

#[tokio::test(flavor = "multi_thread")]
async fn pool_survives_a_thousand_killed_workers() {
    let rogues = Rogues::named("honest");
    let over = AtomicBool::new(false);
    let runs = join_all((0..3).map(|_| async {
        let mut right = 0_u32;
        while !over.load(Ordering::Relaxed) {
            match rogues.run("honest", HANG).await.0 {
                Ok(result) => {
                    assert_eq!(result, "\"honest\"");
                    right += 1;
                }
                Err(fault) => {
                    let known = [FaultKind::Internal, FaultKind::Unavailable].contains(&fault.kind);
                    assert!(known && fault.message.contains("ended"), "{fault:?}");
                }
            }
        }
        right
    }));
    let killer = async {
        let me = i32::try_from(std::process::id()).unwrap();
        let killed = tokio::task::spawn_blocking(move || kill(KILLS, || process::descendants(me)));
        assert_eq!(killed.await.unwrap(), KILLS);
        over.store(true, Ordering::Relaxed);
    };
    let (right, ()) = tokio::join!(runs, killer);
    assert!(right.iter().sum::<u32>() > 0);
    rogues.serves("a thousand kills").await;
    let status = rogues.pool.status();
    assert_eq!((status.busy, status.waiting), (0, 0));
    // A worker that was replaced may still be ending.
    let me = i32::try_from(std::process::id()).unwrap();
    let settled = async {
        while process::descendants(me).len() > 2 {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(HANG, settled).await;
    settled.expect("the pool keeps two workers");
}
