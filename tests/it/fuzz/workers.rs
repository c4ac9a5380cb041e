//! Workers that send arbitrary frames, and the calls that the pool lets through.

mod speech;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use mux_chance::{broken, holds};
use mux_sandbox::{Pool, PoolSettings, ProgramLimits, ToolHost};
use mux_tests::pool;
use mux_wire::{CallTarget, ConsoleLevel, Fault};
use proptest::prelude::*;
use tokio::{runtime::Runtime, time::timeout};
use tokio_util::sync::CancellationToken;

use self::speech::Speech;
use super::HANG;

/// The maximum length of an error's text, with the mark where it is cut.
const MAX_TEXT: usize = (16 << 10) + 3;

/// Room for the lines that a worker prints when a budget is used up or a run ends.
const SLACK: u32 = 64 << 10;

/// Counts the calls that the pool lets through. Every other call never ends.
#[derive(Default)]
struct Counting {
    calls: AtomicUsize,
    running: Arc<AtomicUsize>,
    most_at_once: AtomicUsize,
    longest: AtomicUsize,
    printed: AtomicUsize,
    emitted: AtomicUsize,
}

/// Counts down when a call ends or is cancelled.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ToolHost for Counting {
    fn run_started(&self) {}

    fn call(
        &self,
        _target: CallTarget,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        self.longest.fetch_max(arguments.len(), Ordering::SeqCst);
        let running = Running(Arc::clone(&self.running));
        Box::pin(async move {
            let _running = running;
            if number % 2 == 1 {
                std::future::pending::<()>().await;
            }
            Ok("[]".into())
        })
    }

    fn console(&self, _level: ConsoleLevel, text: String) {
        self.printed.fetch_add(text.len(), Ordering::SeqCst);
    }

    fn emit(&self, part: String) {
        self.emitted.fetch_add(part.len(), Ordering::SeqCst);
    }
}

fn limits() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_millis(300),
        calls: 20,
        calls_at_once: 4,
        argument: 1_000,
        result: 5_000,
        console: 2_000,
        emitted: 3_000,
        ..ProgramLimits::default()
    }
}

fn at_most(what: &str, actual: usize, most: impl TryInto<usize>) -> Result<(), TestCaseError> {
    let most = most.try_into().unwrap_or(usize::MAX);
    if actual <= most {
        return Ok(());
    }
    Err(broken(format!(
        "{what}: {actual}, over the limit of {most}"
    )))
}

/// Checks the limits after a run.
fn judge(outcome: &Result<String, Fault>, host: &Counting) -> Result<(), TestCaseError> {
    let limits = limits();
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    at_most("calls", count(&host.calls), limits.calls)?;
    at_most(
        "calls at once",
        count(&host.most_at_once),
        limits.calls_at_once,
    )?;
    at_most(
        "bytes of an argument",
        count(&host.longest),
        limits.argument,
    )?;
    if count(&host.running) > 0 {
        return Err(broken("a call outlives its run"));
    }
    at_most(
        "bytes printed",
        count(&host.printed),
        limits.console + SLACK,
    )?;
    at_most("bytes emitted", count(&host.emitted), limits.emitted)?;
    if let Ok(result) = outcome {
        at_most("bytes of the result", result.len(), limits.result)?;
    }
    if let Err(fault) = outcome {
        let texts = [
            Some(&fault.message),
            fault.hint.as_ref(),
            fault.path.as_ref(),
        ];
        for text in texts.into_iter().flatten() {
            at_most("bytes of an error", text.len(), MAX_TEXT)?;
        }
        prop_assert!(!fault.message.is_empty(), "{:?} without a word", fault.kind);
    }
    Ok(())
}

#[test]
fn fuzz_arbitrary_workers_exceed_no_limit_and_end_only_their_run() {
    let runtime = Runtime::new().unwrap();
    // Most of the time a run waits for its end: few values take seconds already.
    holds("workers", 8, Speech::any(), |speech| {
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let pool = Pool::start(PoolSettings {
                worker: speech.worker(folder.path()),
                start_timeout: Duration::from_secs(5),
                queue_timeout: Duration::from_secs(10),
                ..pool::settings()
            })
            .unwrap();
            let host = Arc::new(Counting::default());
            let request = pool::request("return 1", limits());
            let cancel = CancellationToken::new();
            let run = pool.run(request, Arc::clone(&host) as _, &cancel);
            let outcome = timeout(HANG, run).await.map_err(|_| broken("it hangs"))?;
            judge(&outcome, &host)?;
            prop_assert_eq!(pool.status().busy, 0);
            pool.close();
            Ok(())
        })
    });
}
