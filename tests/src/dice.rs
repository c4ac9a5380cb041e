//! Seeded random numbers for tests that kill processes at random. Their failures name the seed.
//!
//! Invariant: the same seed gives the same numbers. The timing of processes still varies.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

/// Set it to the seed of a failure to repeat the same choices.
const SEED: &str = "MUX_TEST_SEED";

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator from the seed of this run and the number of a stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut dice = Self(seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.draw();
        dice
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// True with the probability 1 in `many`.
    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// A new seed for each run, unless the environment sets one.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who looks at a failure again, not a setting"
)]
pub fn seed() -> u64 {
    let given = env::var(SEED).ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(1, |now| now.as_nanos() as u64) & 0xffff_ffff
    })
}
