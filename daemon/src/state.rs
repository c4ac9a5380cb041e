//! What one daemon holds, shared by all connections.
//!
//! Invariant: every field is either immutable or guards itself; nobody holds two of them locked.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use tokio::sync::watch;
use tracing::{info, warn};

use crate::{
    config::Config,
    environment::Environment,
    gateway::Gateway,
    handles::Handles,
    lifecycle::{Activity, Shutdown},
    runs::Runs,
    settings::Settings,
    upstream::Changes,
};

/// Files that a user may want to look at.
#[derive(Clone, Debug)]
pub struct Places {
    pub config: PathBuf,
    pub env: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
    /// Where servers start.
    pub home: PathBuf,
}

pub struct Daemon {
    pub started: Instant,
    pub places: Places,
    pub gateway: Arc<Gateway>,
    pub runs: Arc<Runs>,
    pub handles: Handles,
    pub activity: Activity,
    pub shutdown: Shutdown,
    /// The login shell's environment, once it is known.
    pub environment: watch::Receiver<Option<Environment>>,
    /// What is wrong with the configuration in force, or with the one that was refused.
    problems: Mutex<Vec<String>>,
    configured: watch::Sender<bool>,
}

impl Daemon {
    pub fn new(
        places: Places,
        gateway: Arc<Gateway>,
        runs: Arc<Runs>,
        handles: Handles,
        activity: Activity,
        shutdown: Shutdown,
        environment: watch::Receiver<Option<Environment>>,
    ) -> Arc<Self> {
        let (started, problems) = (Instant::now(), Mutex::default());
        let configured = watch::Sender::new(false);
        Arc::new(Self {
            started,
            places,
            gateway,
            runs,
            handles,
            activity,
            shutdown,
            environment,
            problems,
            configured,
        })
    }

    pub fn problems(&self) -> Vec<String> {
        self.problems
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads the configuration again. One that cannot be read leaves the last good one in force.
    pub async fn reload(&self) -> Result<(Changes, Vec<String>), String> {
        let outcome = self.load().await;
        self.configured.send_replace(true);
        outcome
    }

    /// Resolves when the configuration has been read for the first time, well or not.
    pub async fn configured(&self) {
        // The sender lives as long as `self`.
        drop(
            self.configured
                .subscribe()
                .wait_for(|configured| *configured)
                .await,
        );
    }

    async fn load(&self) -> Result<(Changes, Vec<String>), String> {
        let config = Config::load(&self.places.config).map_err(|error| {
            let problem = error.to_string();
            warn!(problem, "the configuration is refused");
            self.set_problems(vec![problem.clone()]);
            problem
        })?;
        let mut environment = if config.needs_environment() {
            let mut known = self.environment.clone();
            match known.wait_for(Option::is_some).await {
                Ok(found) => found.clone().unwrap_or_default(),
                Err(_) => return Err("the daemon is ending".into()),
            }
        } else {
            Environment::default()
        };
        let mut problems = environment.overlay_file(&self.places.env);
        let settings = Settings::resolve(config, &environment, &self.places.home);
        self.gateway.set_agents(&settings.agents);
        self.gateway.upstreams().set_starts(settings.limits.starts);
        let changes = self.gateway.upstreams().apply(&settings.servers);
        self.gateway.set_policy(settings.policy.clone());
        let allowed = &settings.limits;
        self.runs.set_limits(allowed.run.clone());
        self.runs.pool().set_bounds(allowed.pool);
        self.runs.inspector().set_terms(settings.checks.clone());
        self.handles.set_terms(allowed.terms);
        self.activity.set_idle_exit(settings.idle_exit);
        problems.extend(settings.problems.iter().cloned());
        problems.extend(settings.servers.values().filter_map(|server| {
            let problem = server.definition.as_ref().err()?;
            Some(format!("[servers.{}]: {problem}", server.name))
        }));
        for problem in &problems {
            warn!(problem, "configuration");
        }
        info!(?changes, "configuration loaded");
        self.set_problems(problems.clone());
        Ok((changes, problems))
    }

    fn set_problems(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }
}
