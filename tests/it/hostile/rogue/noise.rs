//! Frames by chance, from a seed, out of a worker.

use mux_wire::Kind;

use super::{HANG, Rogues};

/// A run of noise ends in no other way than by the word about the protocol, unless chance made a frame
/// that means something; then the deadline or that frame ends it.
#[tokio::test]
async fn five_hundred_random_frames_end_their_run_and_no_other() {
    let rogues = Rogues::named("honest");
    for seed in 1..=500 {
        let soon = std::time::Duration::from_millis(500);
        let (outcome, _) = rogues.run(&format!("noise {seed}"), soon).await;
        if let Err(fault) = outcome {
            let known = [Kind::Internal, Kind::Timeout].contains(&fault.kind)
                || !fault.message.contains("panicked");
            assert!(known, "seed {seed}: {fault:?}");
        }
        if seed % 25 == 0 {
            let (outcome, _) = rogues.run("honest", HANG).await;
            assert_eq!(outcome.as_deref(), Ok("\"honest\""), "after seed {seed}");
        }
    }
}
