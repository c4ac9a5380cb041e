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

use tracing::{info, warn};

use super::{
    Daemon, DaemonProblem, ProblemCode,
    config_files::{ConfigFiles, LastGoodConfig, written},
    sandbox_grants::check_grants,
    telemetry::WantedTelemetry,
};
use mux_audit::AdminEvent;
use mux_caller::ClientOrigin;
use mux_config::environment::{
    COMMAND_TIMEOUT, CommandValues, Environment, MAX_COMMAND_OUTPUT_BYTES,
};
use mux_settings::{
    AgentViews, ConfigChanges, LoadedConfig, Settings,
    projects::{ProjectDenials, ProjectView},
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
type ScopeInputs = (
    AgentViews,
    BTreeMap<Arc<Path>, Arc<ProjectView>>,
    ProjectDenials,
);

/// The problems of the files, of values in the configuration, and of server entries.
fn problems_of(of_files: Vec<String>, settings: &Settings) -> Vec<DaemonProblem> {
    let of_files = of_files.into_iter();
    let of_files = of_files.map(|message| ProblemCode::Config.with(message));
    let of_values = settings.problems.iter();
    let of_values = of_values.map(|problem| ProblemCode::Config.with(&problem.message));
    let of_servers = settings
        .unusable_servers()
        .map(|(name, problem)| DaemonProblem {
            server: Some(name.to_owned()),
            ..ProblemCode::Server.with(problem.message)
        });
    of_files.chain(of_values).chain(of_servers).collect()
}

impl Daemon {
    /// Applies the present configuration. Fails if a file is refused as a whole, and then its last good text stays
    /// active.
    pub async fn load(self: &Arc<Self>, trigger: LoadTrigger) -> Result<LoadReport, String> {
        self.load_files(trigger, None).await
    }

    /// `files` are the files as they were just read; `None` reads them.
    async fn load_files(
        self: &Arc<Self>,
        trigger: LoadTrigger,
        files: Option<ConfigFiles>,
    ) -> Result<LoadReport, String> {
        let daemon = Arc::clone(self);
        // A spawned task, because a client that disconnects must not leave the load half done.
        let load = tokio::spawn(async move {
            let outcome = daemon.load_in_turn(trigger, files).await;
            daemon.configured.send_replace(true);
            outcome
        });
        load.await
            .unwrap_or_else(|_| Err("the configuration was not loaded: see `mux logs`".into()))
    }

    async fn load_in_turn(
        self: &Arc<Self>,
        trigger: LoadTrigger,
        files: Option<ConfigFiles>,
    ) -> Result<LoadReport, String> {
        if trigger == LoadTrigger::Asked {
            self.look_at_projects().await;
        }
        let mut loading = self.loading.lock().await;
        if trigger != LoadTrigger::Projects {
            let files = match files {
                Some(files) => files,
                None => written(&self.paths).await?,
            };
            loading.files.take(files, &self.paths.config);
        }
        let mut report = self.put_in_force(&mut loading, trigger).await?;
        match &loading.files.trouble {
            Some(problem) if trigger != LoadTrigger::Projects => return Err(problem.clone()),
            _ => {}
        }
        if trigger == LoadTrigger::Asked {
            report.earlier = loading.earlier.take();
        }
        Ok(report)
    }

    async fn put_in_force(
        &self,
        loading: &mut LoadState,
        trigger: LoadTrigger,
    ) -> Result<LoadReport, String> {
        let good = loading.files.good.as_ref();
        let config = good.map(|good| good.config.clone());
        // Without the user's own rules, nothing of a project applies either.
        let (mut projects, number) = self.projects().snapshot();
        if config.is_none() {
            projects.clear();
        }
        let config = config.unwrap_or_default();

        let approved = || projects.iter().filter(|project| project.is_approved());
        let mut environment = Environment::default();
        // The environment may name the destination of spans.
        let traces = self.gateway.tracer().is_built_in();
        if traces
            || config.needs_environment()
            || approved().any(mux_settings::projects::Project::needs_environment)
        {
            let mut known = self.environment.clone();
            match known.wait_for(Option::is_some).await {
                Ok(found) => environment = found.clone().unwrap_or_default(),
                Err(_) => return Err("the daemon is ending".into()),
            }
        }
        let mut of_files: Vec<String> = loading.files.trouble.iter().cloned().collect();
        of_files.extend(loading.files.env_trouble.iter().cloned());
        of_files.extend(environment.apply_env_file(&loading.files.env, &self.paths.env));
        let mut commands: BTreeSet<String> = config.commands();
        commands.extend(approved().flat_map(mux_settings::projects::Project::commands));
        let run = |spec| {
            let launcher = self.launcher.clone();
            async move {
                launcher
                    .program_output_and_exit(spec, COMMAND_TIMEOUT, MAX_COMMAND_OUTPUT_BYTES)
                    .await
            }
        };
        let how = (self.paths.home.as_path(), trigger == LoadTrigger::Asked);
        let asked = &mut loading.commands;
        asked.answer(commands, &mut environment, how, run).await;
        let mut secrets = config.secrets();
        for (name, user) in approved().flat_map(mux_settings::projects::Project::secrets) {
            secrets.entry(name).or_default().insert(user);
        }
        let wanted: BTreeSet<String> = secrets.keys().cloned().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(wanted, trigger == LoadTrigger::Asked).await);

        let mut settings = Settings::resolve(config, &environment, &self.paths.home);
        let grants = check_grants(&settings).await;
        settings.problems.extend(grants.problems);
        self.launcher.set_write_grants(grants.write);
        let mut servers = settings.servers.clone();
        let taken: Vec<String> = servers
            .keys()
            .chain(settings.disabled.keys())
            .cloned()
            .collect();
        let mut outlooks = BTreeMap::new();
        for project in &projects {
            let home = &self.paths.home;
            let (outlook, own) =
                project.resolve(&taken, &environment, home, settings.server_defaults());
            servers.extend(own.into_iter().map(|server| (server.key(), server)));
            outlooks.insert(Arc::clone(&project.root), Arc::new(outlook));
        }
        let denials = self.projects().denials(&self.paths.home);
        let views = (settings.agents.clone(), outlooks, denials);
        if loading.views.as_ref() != Some(&views) {
            let (agents, outlooks, denials) = views.clone();
            self.gateway.set_scopes(&agents, outlooks, denials);
            loading.views = Some(views);
        }
        self.gateway.set_policies(settings.policy.clone());
        let is_leaving = self.leaving.is_cancelled();
        if !is_leaving {
            self.apply(&settings, loading.files.good.is_some());
            self.send_spans(&mut loading.telemetry, &settings.telemetry);
        }
        let changes = self.gateway.upstreams().apply(&servers);
        let problems = problems_of(of_files, &settings);
        for problem in &problems {
            warn!(problem = problem.message, "configuration");
        }
        info!(?trigger, ?changes, "configuration loaded");
        let mut status = self.config_status();
        status.problems.clone_from(&problems);
        status.unread = loading.files.unread;
        let now = LoadedConfig {
            servers,
            secrets: secrets.keys().cloned().collect(),
            settings: Some(Arc::new(settings)),
        };
        status.secrets = secrets;
        status.in_force.clone_from(&now.settings);
        drop(status);
        if !is_leaving {
            self.note(&loading.in_force, &now, &changes);
        }
        self.projects().set_in_force(number);
        let differences = ConfigChanges::between(&loading.in_force, &now);
        loading.in_force = now;
        let is_own = matches!(trigger, LoadTrigger::Watched | LoadTrigger::Projects);
        if is_own && !differences.is_empty() {
            loading.earlier = Some(EarlierLoad {
                at: Instant::now(),
                differences: differences.clone(),
            });
        }
        Ok(LoadReport {
            differences,
            earlier: None,
            problems: problems
                .into_iter()
                .map(|problem| problem.message)
                .collect(),
        })
    }

    /// Writes the changes of rules and servers to the audit log.
    fn note(&self, before: &LoadedConfig, now: &LoadedConfig, changes: &ServerChanges) {
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
        let (enabled, terms) = settings.audit;
        self.gateway.audit().set_retention(enabled, terms);
        let upstreams = self.gateway.upstreams();
        upstreams.metrics().port.listen(settings.metrics);
        upstreams.set_start_limit(allowed.starts);
        // Pending approvals must not be dropped because of a default.
        let approvals = is_said.then(|| self.gateway.approvals());
        approvals.inspect(|of| of.set_terms(settings.approvals.clone()));
        self.runs.set_limits(settings.runs.clone());
        self.runs.pool().set_bounds(allowed.pool);
        self.runs.inspector().set_checks(settings.checks.clone());
        self.handles.set_limits(allowed.terms);
        self.activity.set_idle_exit(settings.idle_exit);
    }

    /// Checks for changes, and loads the configuration if there are any.
    pub(super) async fn look_again(self: &Arc<Self>) {
        let news = self.look_at_projects().await;
        let Ok(mut written) = written(&self.paths).await else {
            return;
        };
        let (known, blank) = {
            let loading = self.loading.lock().await;
            let good = loading.files.good.as_ref();
            (
                loading.files.fingerprint,
                good.is_none_or(|good| good.is_blank),
            )
        };
        if written.is_blank() && !blank {
            tokio::time::sleep(EMPTY_FILE_DELAY).await;
            let Ok(after) = self::written(&self.paths).await else {
                return;
            };
            written = after;
        }
        let trigger = if known != Some(written.fingerprint()) {
            LoadTrigger::Watched
        } else if news {
            LoadTrigger::Projects
        } else {
            return;
        };
        // `status` reports all problems.
        drop(self.load_files(trigger, Some(written)).await);
    }
}
