//! The recent peak of the demand for workers.

use std::time::Duration;

use tokio::time::Instant;

/// The highest demand in the last one to two time windows.
pub(super) struct DemandPeak {
    window: Duration,
    began: Instant,
    current: usize,
    before: usize,
}

impl DemandPeak {
    pub(super) fn new(window: Duration) -> Self {
        Self {
            window,
            began: Instant::now(),
            current: 0,
            before: 0,
        }
    }

    /// Records the present demand.
    pub(super) fn record_demand(&mut self, demand: usize) {
        self.rotate_window();
        self.current = self.current.max(demand);
    }

    pub(super) fn peak(&mut self) -> usize {
        self.rotate_window();
        self.current.max(self.before)
    }

    fn rotate_window(&mut self) {
        let passed = self.began.elapsed();
        if passed < self.window {
            return;
        }
        self.before = if passed < self.window * 2 {
            self.current
        } else {
            0
        };
        self.current = 0;
        self.began = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn peak_lasts_for_one_to_two_windows() {
        let window = Duration::from_secs(10);
        let mut load = DemandPeak::new(window);
        load.record_demand(8);
        load.record_demand(1);
        assert_eq!(load.peak(), 8);
        tokio::time::advance(window).await;
        load.record_demand(3);
        assert_eq!(load.peak(), 8);
        tokio::time::advance(window).await;
        assert_eq!(load.peak(), 3);
        tokio::time::advance(window * 5).await;
        assert_eq!(load.peak(), 0);
    }
}
