//! Random frames from a seed: mutations of valid frames, and noise.

use mux_tests::frames::{self, Wire};
use serde_json::json;

use super::{rude::serving, unharmed};

/// A deterministic generator: a seed gives the same frames on every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "a failure must say what it was made from"
)]
fn random_frames_are_answered_or_close_the_connection() {
    let seed = 0x6d75_7864_0000_0001;
    println!("seed {seed:#x}");
    let mut chance = Chance(seed);
    let (env, daemon) = serving();
    // Without requests that end the daemon, because a mutation may leave them valid.
    let valid: Vec<String> = [
        json!({ "Status": {} }),
        json!({ "Servers": {} }),
        json!({ "Reload": {} }),
        json!({ "Tools": { "request": {} } }),
        json!({ "CancelRun": { "run": "x" } }),
        json!({ "Events": { "request": { "run": "x", "after": 0, "wait_ms": 0 } } }),
        json!({ "Call": { "request": { "path": "a.b", "arguments": {} } } }),
        frames::hello(1),
    ]
    .iter()
    .map(|message| frames::request(9, message).to_string())
    .collect();
    for _ in 0..500 {
        let mut wire = match chance.below(2) {
            0 => Wire::connect(&env.dirs.socket()),
            _ => Wire::greeted(&env.dirs.socket()),
        };
        for _ in 0..20 {
            let mut frame = valid[chance.below(valid.len())].clone().into_bytes();
            match chance.below(6) {
                0 => {
                    let count = chance.below(200);
                    frame = chance.bytes(count);
                }
                1 => frame.truncate(chance.below(frame.len())),
                2 => {
                    let place = chance.below(frame.len());
                    frame[place] ^= 1 << chance.below(8);
                }
                3 => {
                    // Replace a digit.
                    let digits: Vec<usize> = (0..frame.len())
                        .filter(|i| frame[*i].is_ascii_digit())
                        .collect();
                    let place = digits[chance.below(digits.len())];
                    let number =
                        ["-1", "1e400", "18446744073709551616", "\"x\"", "null"][chance.below(5)];
                    frame.splice(place..=place, number.bytes());
                }
                4 => {
                    let from = chance.below(frame.len());
                    let to = chance.below(frame.len());
                    let piece = frame[from.min(to)..from.max(to)].to_vec();
                    let place = chance.below(frame.len());
                    frame.splice(place..place, piece);
                }
                _ => {}
            }
            // The connection is closed if an earlier frame was bad.
            drop(wire.send(&frame));
        }
        wire.finish();
        // Answers to the valid frames before the first bad one, and then the end.
        wire.rest();
    }
    unharmed(&env, daemon);
}
