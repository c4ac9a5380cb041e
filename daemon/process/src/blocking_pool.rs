//! Runs blocking or long computations outside the runtime's worker threads.
//!
//! Invariant: a panic in the work resumes in the caller.

use std::{future::pending, panic::resume_unwind};

use tokio::task::spawn_blocking;

/// Runs work on the blocking pool.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(cause) => resume_unwind(cause),
            // The runtime is shutting down, so this future will be dropped.
            Err(_) => pending().await,
        },
    }
}

/// Runs long work on the blocking pool, and short work here: switching threads would take longer.
pub async fn run_if<T: Send + 'static>(
    is_long: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if is_long { run(work).await } else { work() }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn run_returns_the_value_and_propagates_a_panic() {
        assert_eq!(run(|| 1 + 1).await, 2);
        let failed = AssertUnwindSafe(run(|| panic!("odd"))).catch_unwind().await;
        assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"odd"));
    }
}
