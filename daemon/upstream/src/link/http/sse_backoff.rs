//! The state of a server's event stream, and the delay before a retry.
//!
//! Invariant: the delay grows for a server that keeps closing the stream soon after it opened.

use std::time::{Duration, Instant};

/// The longest delay before a dropped stream is retried, if this daemon or the server proposes the delay.
pub(super) const MAX_STREAM_RETRY_DELAY: Duration = Duration::from_secs(30);
/// A stream that lasted this long counts as a success.
const STABLE_STREAM_AGE: Duration = Duration::from_secs(30);

/// The history of one event stream.
#[derive(Debug, Default)]
pub(super) struct SseBackoff {
    opened: Option<Instant>,
    /// The number of short streams in a row.
    short_streams: u32,
}

impl SseBackoff {
    /// True if the stream was ever open.
    pub(super) fn was_opened(&self) -> bool {
        self.opened.is_some()
    }

    pub(super) fn record_stream_open(&mut self) {
        // The delay before the stream was requested again does not count toward its age.
        let stable = STABLE_STREAM_AGE + self.retry_delay();
        self.short_streams = match self.opened {
            Some(before) if before.elapsed() < stable => self.short_streams.saturating_add(1),
            _ => 0,
        };
        self.opened = Some(Instant::now());
    }

    /// The delay before the stream is requested again.
    pub(super) fn retry_delay(&self) -> Duration {
        match self.short_streams {
            0 => Duration::ZERO,
            short_streams => {
                Duration::from_secs(1 << short_streams.min(5)).min(MAX_STREAM_RETRY_DELAY)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_delay_does_not_make_a_stream_stable() {
        let opened_ago = |seconds| {
            Some(
                Instant::now()
                    .checked_sub(Duration::from_secs(seconds))
                    .unwrap(),
            )
        };
        let mut backoff = SseBackoff {
            opened: opened_ago(31),
            short_streams: 5,
        };
        backoff.record_stream_open();
        assert_eq!(backoff.short_streams, 6, "30 s of the 31 s were the delay");
        backoff.opened = opened_ago(61);
        backoff.record_stream_open();
        assert_eq!(backoff.short_streams, 0, "it was open for 31 s");
    }

    #[test]
    fn retry_delay_grows_for_short_streams() {
        let mut backoff = SseBackoff::default();
        assert!(!backoff.was_opened() && backoff.retry_delay().is_zero());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            backoff.record_stream_open();
            pauses.push(backoff.retry_delay().as_secs());
        }
        assert_eq!(pauses, [0, 2, 4, 8, 16, 30, 30, 30]);
    }
}
