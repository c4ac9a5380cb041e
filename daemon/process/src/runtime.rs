//! The threads on which the daemon runs.
//!
//! Invariant: there is always a thread for work that blocks. tokio starts those when they are needed; where the
//! system starts none any more and all have left, what is handed over would wait for ever.

#[cfg(target_os = "linux")]
mod poll_watch;

use std::{io, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Threads for connections, sessions and runs.
const MIN_WORKER_THREADS: usize = 2;
const MAX_WORKER_THREADS: usize = 8;
/// A thread that blocks leaves when it was not needed for so long; one is needed more often.
const BLOCKING_THREAD_KEEP_ALIVE: Duration = Duration::from_secs(90);
const BLOCKING_THREAD_PING_INTERVAL: Duration = Duration::from_secs(40);

/// Those that a daemon cannot do without: tokio's own would panic half way.
const MIN_STARTABLE_THREADS: usize = 4;

/// The runtime, or why the system does not start its threads. `watch_polls`: [`longest_poll`] is known.
pub fn build_runtime(watch_polls: bool) -> io::Result<Runtime> {
    let processors = thread::available_parallelism().map_or(MIN_WORKER_THREADS, usize::from);
    let threads = processors.clamp(MIN_WORKER_THREADS, MAX_WORKER_THREADS);
    probe_threads(threads + MIN_STARTABLE_THREADS)?;
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .thread_keep_alive(BLOCKING_THREAD_KEEP_ALIVE)
        .enable_all();
    #[cfg(target_os = "linux")]
    let watch = watch_polls.then(|| poll_watch::PollWatch::on(&mut builder));
    #[cfg(not(target_os = "linux"))]
    let _not_known_here = watch_polls;
    let runtime = builder.build()?;
    #[cfg(target_os = "linux")]
    if let Some(watch) = watch {
        watch.start(&runtime)?;
        // A process has one runtime.
        drop(POLL_WATCH.set(watch));
    }
    runtime.spawn(keep_blocking_thread());
    Ok(runtime)
}

/// For how long a thread of the runtime has computed at a time, at most, since this was asked last. `None` if
/// nobody watches.
pub fn longest_poll() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    return POLL_WATCH.get().map(|watch| watch.take_longest());
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
static POLL_WATCH: std::sync::OnceLock<std::sync::Arc<poll_watch::PollWatch>> =
    std::sync::OnceLock::new();

/// Starts so many threads at once, and lets them go.
fn probe_threads(count: usize) -> io::Result<()> {
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

async fn keep_blocking_thread() {
    loop {
        // It ends only with the runtime.
        drop(tokio::task::spawn_blocking(|| ()).await);
        tokio::time::sleep(BLOCKING_THREAD_PING_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_built_where_there_are_threads() {
        let runtime = build_runtime(false).unwrap();
        assert_eq!(runtime.block_on(async { 7 }), 7);
    }
}
