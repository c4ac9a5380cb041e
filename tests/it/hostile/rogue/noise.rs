//! Random frames of a worker, from a seed.

use mux_wire::FaultKind;

use super::{HANG, Rogues};

/// Random frames end their run by a protocol error, unless one is valid by chance. Then that frame or the deadline ends
/// it.
#[tokio::test]
async fn five_hundred_random_frames_end_only_their_run() {
    let rogues = Rogues::named("honest");
    for seed in 1..=500 {
        let soon = std::time::Duration::from_millis(500);
        let (outcome, _) = rogues.run(&format!("noise {seed}"), soon).await;
        if let Err(fault) = outcome {
            let known = [FaultKind::Internal, FaultKind::Timeout].contains(&fault.kind)
                || !fault.message.contains("panicked");
            assert!(known, "seed {seed}: {fault:?}");
        }
        if seed % 25 == 0 {
            let (outcome, _) = rogues.run("honest", HANG).await;
            assert_eq!(outcome.as_deref(), Ok("\"honest\""), "after seed {seed}");
        }
    }
}
