//! Compromised workers: `mux-rogue-worker` breaks every rule of the frame protocol, one at a time. Numbers 29 and 31.
//!
//! Invariant: regardless of a worker's behavior, its run ends with an outcome by the deadline, the next run gets a
//! working worker, and memory stays limited.

mod after;
mod before;
mod daemon;
mod killed;
mod noise;

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use mux_sandbox::{Pool, ProgramLimits, ToolHost};
use mux_tests::{env::binary, pool, process};
use mux_wire::{CallTarget, ConsoleLevel, Fault};
use tokio_util::sync::CancellationToken;

/// A run that does not end within this hangs.
const HANG: Duration = Duration::from_secs(30);

/// Records the calls that the pool lets through.
#[derive(Default)]
struct Host {
    calls: AtomicUsize,
    /// The number of calls whose futures have neither ended nor been dropped.
    open: Arc<AtomicUsize>,
    printed: Mutex<String>,
    emitted: AtomicUsize,
}

/// One call that is open until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ToolHost for Host {
    fn run_started(&self) {}

    fn call(&self, target: CallTarget, _: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.open));
        async move {
            let answer = match &target {
                CallTarget::Named { tool, .. } if tool == "large" => {
                    format!("{:?}", "x".repeat(1 << 20))
                }
                CallTarget::Named { tool, .. } if tool == "small" => "1".into(),
                _ => std::future::pending().await,
            };
            drop(open);
            Ok(answer)
        }
        .boxed()
    }

    fn console(&self, _: ConsoleLevel, text: String) {
        self.printed.lock().unwrap().push_str(&text);
    }

    fn emit(&self, part: String) {
        self.emitted.fetch_add(part.len(), Ordering::Relaxed);
    }
}

/// A pool of rogue workers. The name of their program selects their behavior before they run a program.
struct Rogues {
    pool: Pool,
    folder: tempfile::TempDir,
    name: PathBuf,
}

impl Rogues {
    fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        symlink(binary("mux-rogue-worker"), &path).unwrap();
        let mut settings = pool::settings_of(path.clone());
        settings.start_timeout = Duration::from_secs(2);
        Self {
            pool: Pool::start(settings).unwrap(),
            folder,
            name: path,
        }
    }

    /// Makes the workers that are started from now on well-behaved.
    fn reform(&self) {
        let honest = self.folder.path().join("honest");
        symlink(binary("mux-rogue-worker"), &honest).unwrap();
        // The worker is started by the script under the name `honest`.
        let script = self.folder.path().join("script");
        fs::write(&script, format!("#!/bin/sh\nexec {honest:?} \"$@\"\n")).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        fs::rename(script, &self.name).unwrap();
    }

    async fn run(&self, program: &str, wall: Duration) -> (Result<String, Fault>, Arc<Host>) {
        let limits = ProgramLimits {
            wall,
            ..ProgramLimits::default()
        };
        let host = Arc::new(Host::default());
        let never = CancellationToken::new();
        let request = pool::request(program, limits);
        let run = self.pool.run(request, Arc::clone(&host) as _, &never);
        let outcome = tokio::time::timeout(HANG, run).await;
        (outcome.unwrap_or_else(|_| panic!("{program} hangs")), host)
    }

    /// Checks that the next run succeeds.
    async fn serves(&self, after: &str) {
        let (outcome, _) = self.run("honest", HANG).await;
        assert_eq!(outcome.as_deref(), Ok("\"honest\""), "after {after}");
    }
}

/// The peak memory of this process, in MiB.
fn peak() -> u64 {
    process::peak_bytes(i32::try_from(std::process::id()).unwrap()) >> 20
}

/// The length of all texts of a fault.
fn length(fault: &Fault) -> usize {
    [&fault.hint, &fault.path, &fault.details]
        .into_iter()
        .flatten()
        .map(String::len)
        .sum::<usize>()
        + fault.message.len()
}
