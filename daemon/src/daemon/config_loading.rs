//! Loads the configuration files and applies them.
//!
//! Invariant: an unreadable or invalid file changes nothing but the report of `status`, until the file is valid again.
//! A missing file counts as unreadable. An empty file means that there are no servers. After a handover the predecessor
//! applies only policies, scopes and servers. The successor does the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_messages::Problem;
use tracing::{info, warn};

use super::{
    Daemon, ProblemCode,
    config_files::{ConfigFiles, LastGoodConfig},
    sandbox_grants::check_grants,
    telemetry::WantedTelemetry,
};
use mux_audit::AdminEvent;
use mux_caller::ClientOrigin;
use mux_config::{
    Config,
    environment::{COMMAND_TIMEOUT, CommandValues, Environment, MAX_COMMAND_OUTPUT_BYTES},
};
use mux_journal::HistoryLimits;
use mux_settings::{
    AgentViews, ConfigChanges, LoadedConfig, ServerSettings, Settings,
    projects::{Project, ProjectDenials, ProjectView},
};
use mux_upstream::ServerChanges;

/// How long a file must stay empty before it is accepted: some editors empty a file before they write it.
const EMPTY_FILE_DELAY: Duration = Duration::from_secs(1);

/// Why the configuration is loaded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadTrigger {
    Start,
    /// A client requested it: commands in the configuration are run again, too.
    Asked,
    /// The configuration files may have changed.
    Watched,
    /// The files of a project or an approval changed. The configuration files are not read.
    Projects,
}

/// The result of a load, as `mux reload` reports it.
#[derive(Debug)]
pub struct LoadReport {
    /// The changes of this load.
    pub differences: ConfigChanges,
    /// The changes of the last load that was not a `reload`, unless they were reported before.
    pub earlier: Option<EarlierLoad>,
    pub problems: Vec<String>,
}

/// The changes of a load, such as after a file was saved.
#[derive(Debug)]
pub struct EarlierLoad {
    pub at: Instant,
    pub differences: ConfigChanges,
}

/// The state that is kept between two loads.
#[derive(Debug, Default)]
pub(super) struct LoadState {
    files: LastGoodConfig,
    commands: CommandValues,
    views: Option<ScopeInputs>,
    /// The configured destination of spans.
    telemetry: WantedTelemetry,
    in_force: LoadedConfig,
    earlier: Option<EarlierLoad>,
}

/// The inputs from which scopes are computed: each agent's view of each project.
#[derive(Clone, Debug, PartialEq)]
struct ScopeInputs {
    agents: AgentViews,
    projects: BTreeMap<Arc<Path>, Arc<ProjectView>>,
    denials: ProjectDenials,
}

/// Everything to which the files refer.
struct ExpandedInputs {
    environment: Environment,
    /// The names of secrets, each with the entries that use it.
    secrets: BTreeMap<String, BTreeSet<String>>,
    /// The problems of the files themselves.
    problems: Vec<String>,
}

/// The reason the configuration was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file was refused as a whole.
    #[error("{0}")]
    Refused(String),
    #[error("the daemon is ending")]
    DaemonEnds,
    #[error("the configuration was not loaded: see `mux logs`")]
    Failed,
}

impl LoadState {
    /// Replaces the loaded configuration. Changes that no client asked for are kept for the next report.
    fn report_changes(
        &mut self,
        now: LoadedConfig,
        problems: Vec<Problem>,
        trigger: LoadTrigger,
    ) -> LoadReport {
        let differences = ConfigChanges::between(&self.in_force, &now);
        self.in_force = now;
        let is_own = matches!(trigger, LoadTrigger::Watched | LoadTrigger::Projects);
        if is_own && !differences.is_empty() {
            self.earlier = Some(EarlierLoad {
                at: Instant::now(),
                differences: differences.clone(),
            });
        }
        let problems = problems.into_iter().map(|problem| problem.message);
        LoadReport {
            differences,
            earlier: None,
            problems: problems.collect(),
        }
    }
}

/// The problems of the files, of values in the configuration, and of server entries.
fn problems_of(of_files: Vec<String>, settings: &Settings) -> Vec<Problem> {
    let of_files = of_files.into_iter();
    let of_files = of_files.map(|message| ProblemCode::Config.with(message));
    let of_values = settings.problems.iter();
    let of_values = of_values.map(|problem| ProblemCode::Config.with(&problem.message));
    let of_servers = settings.unusable_servers().map(|(name, problem)| Problem {
        server: Some(name.to_owned()),
        ..ProblemCode::Server.with(problem.message)
    });
    of_files.chain(of_values).chain(of_servers).collect()
}

impl Daemon {
    /// Applies the present configuration. Fails if a file is refused as a whole, and then its last good text stays
    /// active.
    pub async fn load(self: &Arc<Self>, trigger: LoadTrigger) -> Result<LoadReport, LoadError> {
        self.load_files(trigger, None).await
    }

    /// `files` are the files as they were just read; `None` reads them.
    async fn load_files(
        self: &Arc<Self>,
        trigger: LoadTrigger,
        files: Option<ConfigFiles>,
    ) -> Result<LoadReport, LoadError> {
        let daemon = Arc::clone(self);
        // A spawned task, because a client that disconnects must not leave the load half done.
        let load = tokio::spawn(async move {
            let outcome = daemon.load_in_turn(trigger, files).await;
            daemon.configured.send_replace(true);
            outcome
        });
        load.await.unwrap_or(Err(LoadError::Failed))
    }

    async fn load_in_turn(
        self: &Arc<Self>,
        trigger: LoadTrigger,
        files: Option<ConfigFiles>,
    ) -> Result<LoadReport, LoadError> {
        if trigger == LoadTrigger::Asked {
            self.look_at_projects().await;
        }
        let mut loading = self.loading.lock().await;
        if trigger != LoadTrigger::Projects {
            let files = match files {
                Some(files) => files,
                None => ConfigFiles::read(&self.paths).await?,
            };
            loading.files.take(files, &self.paths.config);
        }
        let mut report = self.apply_files(&mut loading, trigger).await?;
        match &loading.files.trouble {
            Some(problem) if trigger != LoadTrigger::Projects => {
                return Err(LoadError::Refused(problem.clone()));
            }
            _ => {}
        }
        if trigger == LoadTrigger::Asked {
            report.earlier = loading.earlier.take();
        }
        Ok(report)
    }

    /// Applies the last good files. Every phase needs what the phases before it have found.
    async fn apply_files(
        &self,
        loading: &mut LoadState,
        trigger: LoadTrigger,
    ) -> Result<LoadReport, LoadError> {
        let good = loading.files.good.as_ref();
        let is_read = good.is_some();
        let config = good.map(|good| good.config.clone()).unwrap_or_default();
        let (mut projects, number) = self.projects.lock().snapshot();
        if !is_read {
            // Without the user's own rules, nothing of a project applies either.
            projects.clear();
        }
        // The environment first, because values of the configuration refer to it.
        let known = self.expand(loading, &config, &projects, trigger).await?;
        let mut settings = Settings::resolve(config, &known.environment, &self.paths.home);
        let grants = check_grants(&settings).await;
        settings.problems.extend(grants.problems);
        self.launcher.set_write_grants(grants.write);
        let mut servers = settings.servers.clone();
        let views = self.add_projects(&projects, &settings, &known.environment, &mut servers);
        // Scopes and rules before the servers: a new server must not be seen by an old rule.
        if loading.views.as_ref() != Some(&views) {
            let ScopeInputs {
                agents,
                projects,
                denials,
            } = views.clone();
            self.gateway.set_scopes(&agents, projects, denials);
            loading.views = Some(views);
        }
        self.gateway.set_policies(settings.policy.clone());
        let is_leaving = self.leaving.is_cancelled();
        if !is_leaving {
            self.apply(&settings, is_read);
            self.send_spans(&mut loading.telemetry, &settings.telemetry);
        }
        let changes = self.gateway.upstreams().apply(&servers);
        let problems = problems_of(known.problems, &settings);
        for problem in &problems {
            warn!(problem = problem.message, "configuration");
        }
        info!(?trigger, ?changes, "configuration loaded");
        let now = LoadedConfig {
            servers,
            secrets: known.secrets.keys().cloned().collect(),
            settings: Some(Arc::new(settings)),
        };
        let mut status = self.config_status.lock();
        status.problems.clone_from(&problems);
        status.unread = loading.files.unread;
        status.secrets = known.secrets;
        status.in_force.clone_from(&now.settings);
        drop(status);
        if !is_leaving {
            self.audit_changes(&loading.in_force, &now, &changes);
        }
        self.projects.lock().set_in_force(number);
        Ok(loading.report_changes(now, problems, trigger))
    }

    /// Reads everything to which the files refer: variables, outputs of commands, and named secrets.
    async fn expand(
        &self,
        loading: &mut LoadState,
        config: &Config,
        projects: &[Project],
        trigger: LoadTrigger,
    ) -> Result<ExpandedInputs, LoadError> {
        let approved = || projects.iter().filter(|project| project.is_approved());
        let mut environment = Environment::default();
        // The environment may name the destination of spans.
        if self.gateway.tracer().is_built_in()
            || config.needs_environment()
            || approved().any(Project::needs_environment)
        {
            let mut captured = self.environment.clone();
            let captured = captured.wait_for(Option::is_some).await;
            let captured = captured.map_err(|_| LoadError::DaemonEnds)?;
            environment = captured.clone().unwrap_or_default();
        }
        let files = &loading.files;
        let mut problems: Vec<String> = files.trouble.iter().cloned().collect();
        problems.extend(files.env_trouble.iter().cloned());
        problems.extend(environment.apply_env_file(&files.env, &self.paths.env));
        let mut commands: BTreeSet<String> = config.commands();
        commands.extend(approved().flat_map(Project::commands));
        let run = |spec| {
            let launcher = self.launcher.clone();
            async move {
                launcher
                    .program_output_and_exit(spec, COMMAND_TIMEOUT, MAX_COMMAND_OUTPUT_BYTES)
                    .await
            }
        };
        let is_asked = trigger == LoadTrigger::Asked;
        let how = (self.paths.home.as_path(), is_asked);
        loading
            .commands
            .answer(commands, &mut environment, how, run)
            .await;
        let mut secrets = config.secrets();
        for (name, user) in approved().flat_map(Project::secrets) {
            secrets.entry(name).or_default().insert(user);
        }
        let wanted: BTreeSet<String> = secrets.keys().cloned().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(wanted, is_asked).await);
        Ok(ExpandedInputs {
            environment,
            secrets,
            problems,
        })
    }

    /// Adds the projects' servers. Returns the inputs of all scopes.
    fn add_projects(
        &self,
        projects: &[Project],
        settings: &Settings,
        environment: &Environment,
        servers: &mut BTreeMap<String, ServerSettings>,
    ) -> ScopeInputs {
        let home = &self.paths.home;
        let names = settings.servers.keys().chain(settings.disabled.keys());
        let taken: Vec<String> = names.cloned().collect();
        let mut views = BTreeMap::new();
        for project in projects {
            let defaults = settings.server_defaults;
            let (view, own) = project.resolve(&taken, environment, home, defaults);
            servers.extend(own.into_iter().map(|server| (server.key(), server)));
            views.insert(Arc::clone(&project.root), Arc::new(view));
        }
        ScopeInputs {
            agents: settings.agents.clone(),
            projects: views,
            denials: self.projects.lock().denials(home),
        }
    }

    /// Writes the changes of rules and servers to the audit log.
    fn audit_changes(&self, before: &LoadedConfig, now: &LoadedConfig, changes: &ServerChanges) {
        let audit = self.gateway.audit();
        // Daemon-initiated events have no client.
        let by = ClientOrigin::default();
        let before = before.settings.as_ref().map(|settings| &settings.policy);
        let now = now.settings.as_ref().map(|settings| &settings.policy);
        if let Some(policy) = now.filter(|policy| before != Some(policy)) {
            let count = match policy.count() {
                1 => "1 rule".to_owned(),
                count => format!("{count} rules"),
            };
            audit.record_admin_event(AdminEvent::PolicyLoaded, &count, &by);
        }
        let changed = [
            ("added", &changes.added),
            ("changed", &changes.changed),
            ("removed", &changes.removed),
        ];
        let changed = changed.iter().filter(|(_, names)| !names.is_empty());
        let changed: Vec<String> = changed
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        if !changed.is_empty() {
            audit.record_admin_event(AdminEvent::ServersChanged, &changed.join("; "), &by);
        }
    }

    /// Applies the settings that concern no single server. `is_said` is false until a configuration has been read.
    fn apply(&self, settings: &Settings, is_said: bool) {
        let allowed = &settings.limits;
        self.gateway
            .upstreams()
            .auth()
            .use_keyring(settings.keyring);
        let (enabled, retention) = settings.audit;
        self.gateway.audit().set_retention(enabled, retention);
        let upstreams = self.gateway.upstreams();
        upstreams.metrics().port.listen(settings.metrics);
        upstreams.set_start_limit(allowed.starts);
        // Pending approvals must not be dropped because of a default.
        let approvals = is_said.then(|| self.gateway.approvals());
        approvals.inspect(|of| of.set_settings(settings.approvals.clone()));
        self.runs.history().set_limits(HistoryLimits {
            keep: settings.history.keep,
            size: settings.history.size,
            bare_agents: settings.history.bare_agents.clone(),
        });
        self.runs.set_limits(settings.runs.clone());
        self.runs.pool().set_bounds(allowed.pool);
        self.runs.inspector().set_checks(settings.checks.clone());
        self.handles.set_limits(allowed.stored_values);
        self.activity.set_idle_exit(settings.idle_exit);
    }

    /// Checks for changes, and loads the configuration if there are any.
    pub(super) async fn reload_if_changed(self: &Arc<Self>) {
        let is_project_changed = self.look_at_projects().await;
        let Ok(mut files) = ConfigFiles::read(&self.paths).await else {
            return;
        };
        let loading = self.loading.lock().await;
        let known = loading.files.fingerprint;
        let good = loading.files.good.as_ref();
        let blank = good.is_none_or(|good| good.is_blank);
        drop(loading);
        if files.is_blank() && !blank {
            tokio::time::sleep(EMPTY_FILE_DELAY).await;
            let Ok(after) = ConfigFiles::read(&self.paths).await else {
                return;
            };
            files = after;
        }
        let trigger = if known != Some(files.fingerprint()) {
            LoadTrigger::Watched
        } else if is_project_changed {
            LoadTrigger::Projects
        } else {
            return;
        };
        // `status` reports all problems.
        drop(self.load_files(trigger, Some(files)).await);
    }
}
