//! Chance with a seed, for tests that kill things at random: the seed goes into what they fail with.
//!
//! Invariant: the same seed gives the same numbers. What processes make of them is up to the machine.

use std::{
    env,
    time::{SystemTime, UNIX_EPOCH},
};

/// Set to the number that a failure named, it has the same choices made again.
const SEED: &str = "MUX_TEST_SEED";

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Of the one seed of this run and a number of one's own.
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

    /// A number from 0 on that is less than this.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.draw() % limit as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Whether one in so many.
    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// Another one in each run, unless the environment says which.
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
