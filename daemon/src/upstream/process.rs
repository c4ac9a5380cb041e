//! Starting a server's process, through the keeper, with the environment it may see.
//!
//! Invariant: a keeper that died is replaced before the next start, never in the middle of one.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use tokio::sync::{Mutex, watch};
use tracing::warn;

use crate::{
    environment::Environment,
    keeper::{Keeper, KeptChild, SpawnError, SpawnSpec},
    settings::ServerDefinition,
};

/// Starts processes; cheap to clone.
#[derive(Clone)]
pub struct Launcher(Arc<Inner>);

struct Inner {
    /// The `muxd` program, which is the keeper's program too.
    program: PathBuf,
    lock: PathBuf,
    /// Filled once the login shell has answered.
    environment: watch::Receiver<Option<Environment>>,
    keeper: Mutex<Option<Keeper>>,
}

impl std::fmt::Debug for Launcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launcher").finish_non_exhaustive()
    }
}

impl Launcher {
    pub fn new(
        program: PathBuf,
        lock: PathBuf,
        environment: watch::Receiver<Option<Environment>>,
    ) -> Self {
        Self(Arc::new(Inner {
            program,
            lock,
            environment,
            keeper: Mutex::new(None),
        }))
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
        definition: &ServerDefinition,
    ) -> Result<KeptChild, String> {
        let mut environment = self.0.environment.clone();
        let basis = match environment.wait_for(Option::is_some).await {
            Ok(found) => found.clone().unwrap_or_default().passed(),
            // Nobody will ever fill it: the daemon is ending.
            Err(_) => return Err("the daemon is ending".into()),
        };
        let declared = definition.env.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in basis.iter().chain(declared) {
            env.retain(|(known, _)| known.to_str() != Some(name));
            env.push((name.into(), value.into()));
        }
        let spec = SpawnSpec {
            program: PathBuf::from(&definition.command),
            args: definition.args.iter().map(OsString::from).collect(),
            env,
            cwd: definition.cwd.clone(),
            tag: name.to_owned(),
        };
        let keeper = self.keeper().await.map_err(|e| e.to_string())?;
        keeper
            .spawn(spec)
            .await
            .map_err(|e: SpawnError| e.to_string())
    }

    /// Waits until every process that was started is gone.
    pub async fn close(&self) {
        let keeper = self.0.keeper.lock().await.take();
        if let Some(keeper) = keeper {
            keeper.close().await;
        }
    }

    async fn keeper(&self) -> Result<Keeper, crate::keeper::KeeperError> {
        let mut slot = self.0.keeper.lock().await;
        if let Some(keeper) = slot.as_ref()
            && !keeper.is_gone()
        {
            return Ok(keeper.clone());
        }
        let keeper = Keeper::start(&self.0.program, &self.0.lock).await?;
        *slot = Some(keeper.clone());
        Ok(keeper)
    }
}
