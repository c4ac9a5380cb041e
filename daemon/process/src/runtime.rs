//! The daemon's tokio runtime.
//!
//! Invariant: there is always a thread for blocking work. tokio starts these threads on demand. If all of them had
//! exited and the system refused to start more, blocking work would wait forever.

#[cfg(target_os = "linux")]
mod poll_watch;

use std::{io, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Worker threads, for connections, sessions and runs. Half of the CPUs are left to servers, workers and clients:
/// a message waits longer for them than for the daemon, and each further thread would often wake up without work.
const CPUS_PER_WORKER_THREAD: usize = 2;
const MAX_WORKER_THREADS: usize = 8;
/// The minimum while polls are watched. The watch makes the runtime look for events before each poll, and there a task
/// that has used up its budget is woken to run next: on one thread, it would keep all others from running.
const MIN_WATCHED_WORKER_THREADS: usize = 2;
/// The stack of a thread. Request futures are nested: without optimizations, some need all of tokio's 2 MiB. Only the
/// pages that were used take memory.
const THREAD_STACK_BYTES: usize = 4 << 20;
/// An idle blocking thread exits after this time; [`keep_blocking_thread`] uses one more often.
const BLOCKING_THREAD_KEEP_ALIVE: Duration = Duration::from_secs(90);
const BLOCKING_THREAD_PING_INTERVAL: Duration = Duration::from_secs(40);

/// Threads that the daemon needs besides the workers. Probed first, because tokio panics when it cannot start one.
const MIN_STARTABLE_THREADS: usize = 4;

/// Builds the runtime. Fails if the system does not start its threads. `watch_polls` enables [`longest_poll`].
pub fn build_runtime(watch_polls: bool) -> io::Result<Runtime> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let min = if watch_polls {
        MIN_WATCHED_WORKER_THREADS
    } else {
        1
    };
    let threads = (cpus / CPUS_PER_WORKER_THREAD).clamp(min, MAX_WORKER_THREADS);
    probe_threads(threads + MIN_STARTABLE_THREADS)?;
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .thread_stack_size(THREAD_STACK_BYTES)
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
        // A process has one runtime, so this is set once.
        drop(POLL_WATCH.set(watch));
    }
    runtime.spawn(keep_blocking_thread());
    Ok(runtime)
}

/// The longest time that a runtime thread computed without yielding, since the last call. `None` unless polls are
/// watched.
pub fn longest_poll() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    return POLL_WATCH.get().map(|watch| watch.take_longest());
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
static POLL_WATCH: std::sync::OnceLock<std::sync::Arc<poll_watch::PollWatch>> =
    std::sync::OnceLock::new();

/// Checks that `count` threads can exist at the same time. They end before it returns.
fn probe_threads(count: usize) -> io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(parking_lot::Mutex::new(held));
    let mut threads = Vec::new();
    let started = (0..count).try_for_each(|_| {
        let held = std::sync::Arc::clone(&held);
        let thread = thread::Builder::new().spawn(move || {
            let held = held.lock();
            // No value is ever sent: the wait ends when `hold` is dropped.
            _ = held.recv();
        })?;
        threads.push(thread);
        Ok(())
    });
    drop(hold);
    for thread in threads {
        // The thread cannot panic.
        drop(thread.join());
    }
    started
}

async fn keep_blocking_thread() {
    loop {
        // Fails only when the runtime ends.
        drop(tokio::task::spawn_blocking(|| ()).await);
        tokio::time::sleep(BLOCKING_THREAD_PING_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_is_built_and_runs_a_future() {
        let runtime = build_runtime(false).unwrap();
        assert_eq!(runtime.block_on(async { 7 }), 7);
    }
}
