//! The threads on which the daemon runs.
//!
//! Invariant: there is always a thread for work that blocks. tokio starts those when they are needed; where the
//! system starts none any more and all have left, what is handed over would wait for ever.

use std::{io, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Threads for connections, sessions and runs.
const FEWEST: usize = 2;
const MOST: usize = 8;
/// A thread that blocks leaves when it was not needed for so long; one is needed more often.
const KEPT: Duration = Duration::from_secs(90);
const NEEDED: Duration = Duration::from_secs(40);

/// Those that a daemon cannot do without: tokio's own would panic half way.
const FIRST: usize = 4;

/// The runtime, or why the system does not start its threads.
pub fn build() -> io::Result<Runtime> {
    let processors = thread::available_parallelism().map_or(FEWEST, usize::from);
    let threads = processors.clamp(FEWEST, MOST);
    probe(threads + FIRST)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_keep_alive(KEPT)
        .enable_all()
        .build()?;
    runtime.spawn(keep_one());
    Ok(runtime)
}

/// Starts so many threads at once, and lets them go.
fn probe(count: usize) -> io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    let mut threads = Vec::new();
    let started = (0..count).try_for_each(|_| {
        let held = std::sync::Arc::clone(&held);
        let thread = thread::Builder::new().spawn(move || {
            let held = held
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            // Nothing is ever sent: it ends when `hold` goes.
            _ = held.recv();
        })?;
        threads.push(thread);
        Ok(())
    });
    drop(hold);
    for thread in threads {
        // It cannot panic.
        drop(thread.join());
    }
    started
}

async fn keep_one() {
    loop {
        // It ends only with the runtime.
        drop(tokio::task::spawn_blocking(|| ()).await);
        tokio::time::sleep(NEEDED).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_built_where_there_are_threads() {
        let runtime = build().unwrap();
        assert_eq!(runtime.block_on(async { 7 }), 7);
    }
}
