//! Samples and how they are shown.

use std::time::{Duration, Instant};

/// Times in the order in which they were taken.
#[derive(Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let out = work();
        self.0.push(began.elapsed());
        out
    }

    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn quantile(&self, q: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let place = ((sorted.len() - 1) as f64 * q).round() as usize;
        sorted[place]
    }

    pub(crate) fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::print_stdout, reason = "figures are what it is for")]
pub(crate) fn title(text: &str) {
    println!("\n{text}");
}

#[expect(clippy::print_stdout, reason = "figures are what it is for")]
pub(crate) fn row(what: &str, samples: &Samples) {
    let p50 = millis(samples.median());
    let p99 = millis(samples.quantile(0.99));
    println!(
        "  {what:<58} p50 {p50:>9.3} ms   p99 {p99:>9.3} ms   n {}",
        samples.0.len()
    );
}

#[expect(clippy::print_stdout, reason = "figures are what it is for")]
pub(crate) fn fact(what: &str, value: &str) {
    println!("  {what:<58} {value}");
}
