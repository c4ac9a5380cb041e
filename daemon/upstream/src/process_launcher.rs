//! Starting a server's process, through the keeper, with the environment it may see.
//!
//! Invariant: a keeper that died is replaced before the next start, never in the middle of one.

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    io::AsyncReadExt,
    sync::{Mutex, watch},
    time::timeout,
};
use tracing::warn;

use mux_config::environment::{CommandOutput, Environment};
#[cfg(target_os = "linux")]
use mux_keeper::KeeperOffer;
use mux_keeper::{Keeper, KeeperError, KeptChild, SpawnError, SpawnSpec};
use mux_settings::ProcessServer;

/// How long a program that only has something to say may take.
const PROGRAM_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// What it may print: an environment is shorter.
const MAX_PROGRAM_OUTPUT_BYTES: usize = 16 << 20;
/// Between its end and that of what it printed, if something else holds its pipes.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Starts processes; cheap to clone.
#[derive(Clone)]
pub struct ProcessLauncher(Arc<LauncherInner>);

struct LauncherInner {
    /// The `muxd` program, which is the keeper's program too.
    program: PathBuf,
    lock: PathBuf,
    /// Filled once the login shell has answered.
    environment: watch::Receiver<Option<Environment>>,
    keeper: Mutex<KeeperSlot>,
}

enum KeeperSlot {
    Empty,
    Running(Keeper),
    /// The daemon is ending: nothing starts any more.
    Closed,
}

impl std::fmt::Debug for ProcessLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessLauncher").finish_non_exhaustive()
    }
}

impl ProcessLauncher {
    pub fn new(
        program: PathBuf,
        lock: PathBuf,
        environment: watch::Receiver<Option<Environment>>,
    ) -> Self {
        Self(Arc::new(LauncherInner {
            program,
            lock,
            environment,
            keeper: Mutex::new(KeeperSlot::Empty),
        }))
    }

    /// The one that runs, for the next daemon. None if none can be had.
    #[cfg(target_os = "linux")]
    pub async fn offer_keeper(&self) -> Option<KeeperOffer> {
        let keeper = self.keeper().await.ok()?;
        let offer = keeper.offer().await;
        offer
            .inspect_err(|error| warn!(%error, "the keeper serves no other daemon"))
            .ok()
    }

    /// The one of the daemon before us, from here on.
    pub async fn use_keeper(&self, keeper: Keeper) {
        *self.0.keeper.lock().await = KeeperSlot::Running(keeper);
    }

    /// Starts the keeper ahead of need.
    pub async fn warm_up(&self) {
        if let Err(error) = self.keeper().await {
            warn!(%error, "cannot start the keeper of the server processes");
        }
    }

    /// The process of a server, with pipes to all three of its streams.
    pub(super) async fn launch(
        &self,
        name: &str,
        process: &ProcessServer,
    ) -> Result<KeptChild, String> {
        let mut environment = self.0.environment.clone();
        let basis = match environment.wait_for(Option::is_some).await {
            Ok(found) => found.clone().unwrap_or_default().passed_to_servers(),
            // Nobody will ever fill it: the daemon is ending.
            Err(_) => return Err("the daemon is ending".into()),
        };
        let declared = process.env.iter().map(|(n, v)| (n.as_str(), v.expose()));
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in basis.iter().chain(declared) {
            env.retain(|(known, _)| known.to_str() != Some(name));
            env.push((name.into(), value.into()));
        }
        let spec = SpawnSpec {
            program: PathBuf::from(&process.command),
            args: process
                .args
                .iter()
                .map(|arg| OsString::from(arg.expose()))
                .collect(),
            env,
            cwd: process.cwd.clone(),
            tag: name.to_owned(),
        };
        let keeper = self.keeper().await.map_err(full_error_text)?;
        keeper
            .spawn(spec)
            .await
            .map_err(full_error_text::<SpawnError>)
    }

    /// What a program prints. It and all that it started are ended with its answer, or with the
    /// time for it.
    pub async fn program_output(&self, spec: SpawnSpec) -> Result<Vec<u8>, String> {
        let told = self
            .program_output_and_exit(spec, PROGRAM_OUTPUT_TIMEOUT, MAX_PROGRAM_OUTPUT_BYTES)
            .await?;
        Ok(told.printed)
    }

    /// The same with how it ended, for a program that prints at most so many bytes.
    pub async fn program_output_and_exit(
        &self,
        spec: SpawnSpec,
        within: Duration,
        most: usize,
    ) -> Result<CommandOutput, String> {
        let keeper = self.keeper().await.map_err(full_error_text)?;
        let mut child = keeper.spawn(spec).await.map_err(full_error_text)?;
        drop(child.stdin.take());
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("the process has no pipes".into());
        };
        let mut printed = Vec::new();
        let mut complaints = tokio::io::sink();
        let mut stdout = stdout.take(most as u64 + 1);
        let mut exit = None;
        let all = async {
            let mut read = std::pin::pin!(async {
                let both = tokio::join!(
                    stdout.read_to_end(&mut printed),
                    tokio::io::copy(&mut stderr, &mut complaints)
                );
                // Pipes that break have nothing more to tell.
                drop(both);
            });
            tokio::select! {
                () = &mut read => exit = Some(child.wait().await),
                ended = child.wait() => {
                    exit = Some(ended);
                    // What it started may hold its pipes for ever.
                    _ = timeout(OUTPUT_DRAIN_TIMEOUT, read).await;
                }
            }
        };
        let timely = timeout(within, all).await.is_ok();
        if printed.len() > most {
            return Err(format!("it printed more than {most} bytes"));
        }
        match exit {
            Some(exit) if timely => Ok(CommandOutput { printed, exit }),
            _ => Err(format!("it did not answer within {within:?}")),
        }
    }

    /// Waits until every process that was started is gone. Nothing can be started after it.
    pub async fn close(&self) {
        let slot = std::mem::replace(&mut *self.0.keeper.lock().await, KeeperSlot::Closed);
        if let KeeperSlot::Running(keeper) = slot {
            keeper.close().await;
        }
    }

    async fn keeper(&self) -> Result<Keeper, KeeperError> {
        let mut slot = self.0.keeper.lock().await;
        match &*slot {
            KeeperSlot::Running(keeper) if !keeper.is_gone() => return Ok(keeper.clone()),
            KeeperSlot::Running(_) | KeeperSlot::Empty => {}
            KeeperSlot::Closed => return Err(KeeperError::Gone),
        }
        let keeper = Keeper::start(&self.0.program, &self.0.lock).await?;
        *slot = KeeperSlot::Running(keeper.clone());
        Ok(keeper)
    }
}

/// An error with all that led to it.
fn full_error_text<E: std::error::Error + Send + Sync + 'static>(error: E) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
