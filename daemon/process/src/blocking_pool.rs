//! Work that takes more than a moment, off the runtime's threads.
//!
//! Invariant: a panic of the work is one of whoever waits for it.

use std::{future::pending, panic::resume_unwind};

use tokio::task::spawn_blocking;

pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(cause) => resume_unwind(cause),
            // The runtime is ending, and whoever waits with it.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_done_comes_back_and_so_does_a_panic() {
        assert_eq!(run(|| 1 + 1).await, 2);
        let failed = AssertUnwindSafe(run(|| panic!("odd"))).catch_unwind().await;
        assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"odd"));
    }
}
