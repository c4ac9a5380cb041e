//! The stream on which a server speaks of its own accord, and how soon it is asked for again.
//!
//! Invariant: a server that ends it as soon as it is open is asked ever more rarely.

use std::time::{Duration, Instant};

/// A stream that lasted so long was no failure.
const LONG: Duration = Duration::from_secs(30);

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Standing {
    opened: Option<Instant>,
    /// How often in a row it was short.
    short: u32,
}

impl Standing {
    /// It was open before.
    pub(super) fn is_known(&self) -> bool {
        self.opened.is_some()
    }

    pub(super) fn open(&mut self) {
        self.short = match self.opened {
            Some(before) if before.elapsed() < LONG => self.short.saturating_add(1),
            _ => 0,
        };
        self.opened = Some(Instant::now());
    }

    /// Before it is asked for again.
    pub(super) fn pause(&self) -> Duration {
        match self.short {
            0 => Duration::ZERO,
            short => Duration::from_secs(1 << short.min(5)).min(LONG),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_always_short_is_asked_for_ever_more_rarely() {
        let mut standing = Standing::default();
        assert!(!standing.is_known() && standing.pause().is_zero());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            standing.open();
            pauses.push(standing.pause().as_secs());
        }
        assert_eq!(pauses, [0, 2, 4, 8, 16, 30, 30, 30]);
    }
}
