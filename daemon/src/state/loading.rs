//! From the files to what is in force.
//!
//! Invariant: what cannot be read or parsed changes nothing but what `status` says, until it is good again.
//! A file that is gone is one that cannot be read; one that is empty says that there are no servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::{Daemon, Places, telemetry::Wanted};
use crate::{
    audit::Deed,
    config::{Config, ConfigError},
    environment::{Commands, Environment, MOST, WITHIN},
    notices::Origin,
    policy::Policies,
    projects::Outlook,
    settings::{Agents, Differences, ServerSettings, Settings},
    upstream::Changes,
};

/// A file that has become empty is believed only if it stays so: some editors empty it before they write.
const EMPTY: Duration = Duration::from_secs(1);

/// Why the configuration is put in force.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trigger {
    Start,
    /// Somebody wants it: commands are asked again, too.
    Asked,
    /// Its files have changed.
    Watched,
    /// The files of a project have, or an approval; ours are not read.
    Projects,
}

/// What `mux reload` tells.
#[derive(Debug)]
pub struct Report {
    /// Since somebody was told before, whoever put it in force.
    pub differences: Differences,
    pub problems: Vec<String>,
}

/// What one load leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Loading {
    /// The last text that could be parsed.
    good: Option<Good>,
    /// Why it is not what stands in the file now.
    trouble: Option<String>,
    env: String,
    env_trouble: Option<String>,
    commands: Commands,
    policy: Option<Policies>,
    /// The files could not be read at all, which may be over in a moment.
    unread: bool,
    /// Of the files as they were read last.
    fingerprint: Option<blake3::Hash>,
    views: Option<Views>,
    /// Where spans are sent.
    telemetry: Wanted,
    /// The servers of which somebody was told last.
    told: BTreeMap<String, ServerSettings>,
}

#[derive(Debug)]
struct Good {
    text: String,
    /// It stood in a file, whose absence is then no empty one.
    written: bool,
}

/// Who sees what.
type Views = (Agents, BTreeMap<Arc<Path>, Arc<Outlook>>);

/// The files as they are.
struct Written {
    config: Result<Option<String>, ConfigError>,
    env: Result<String, String>,
}

impl Written {
    fn read(config: &Path, env: &Path) -> Self {
        Self {
            config: Config::read(config),
            env: match std::fs::read_to_string(env) {
                Ok(text) => Ok(text),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
                Err(e) => Err(format!("cannot read {}: {e}", env.display())),
            },
        }
    }

    fn fingerprint(&self) -> blake3::Hash {
        let config = self.config.as_ref().map_err(ToString::to_string);
        blake3::hash(format!("{config:?}\0{:?}", self.env).as_bytes())
    }

    fn is_blank(&self) -> bool {
        matches!(&self.config, Ok(Some(text)) if text.trim().is_empty())
    }
}

impl Loading {
    /// Keeps what is good of it.
    fn take(&mut self, written: Written, path: &Path) {
        self.fingerprint = Some(written.fingerprint());
        self.unread =
            written.env.is_err() || matches!(written.config, Err(ConfigError::Read { .. }));
        match written.env {
            Ok(env) => (self.env, self.env_trouble) = (env, None),
            Err(problem) => self.env_trouble = Some(problem),
        }
        let shown = path.display();
        let parsed = match written.config {
            Ok(Some(text)) => Config::parse(&text, &shown.to_string())
                .map(|_| Good {
                    text,
                    written: true,
                })
                .map_err(|error| error.to_string()),
            Ok(None) if self.good.as_ref().is_some_and(|good| good.written) => Err(format!(
                "{shown} is gone, and what it said last stays in force; put it back, or leave an empty \
                 file to have no servers"
            )),
            Ok(None) => Ok(Good {
                text: String::new(),
                written: false,
            }),
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(good) => (self.good, self.trouble) = (Some(good), None),
            Err(problem) => {
                warn!(problem, "the configuration is refused");
                self.trouble = Some(problem);
            }
        }
    }
}

impl Daemon {
    /// Puts in force what there is now. The problem is that of a file that is refused as a whole; what it
    /// said last is in force then.
    pub async fn load(self: &Arc<Self>, trigger: Trigger) -> Result<Report, String> {
        let daemon = Arc::clone(self);
        // Half of it must not be left undone when a client goes away.
        let load = tokio::spawn(async move {
            let outcome = daemon.load_in_turn(trigger).await;
            daemon.configured.send_replace(true);
            outcome
        });
        load.await
            .unwrap_or_else(|_| Err("the configuration was not loaded: see `mux logs`".into()))
    }

    async fn load_in_turn(&self, trigger: Trigger) -> Result<Report, String> {
        if trigger == Trigger::Asked {
            self.look_at_projects().await;
        }
        let mut loading = self.loading.lock().await;
        if trigger != Trigger::Projects {
            let written = written(&self.places).await?;
            loading.take(written, &self.places.config);
        }
        let report = self.put_in_force(&mut loading, trigger).await?;
        match &loading.trouble {
            Some(problem) if trigger != Trigger::Projects => Err(problem.clone()),
            _ => Ok(report),
        }
    }

    async fn put_in_force(
        &self,
        loading: &mut Loading,
        trigger: Trigger,
    ) -> Result<Report, String> {
        let text = loading.good.as_ref().map(|good| good.text.as_str());
        // Without the user's own rules, nothing of a project is in force either.
        let (mut projects, number) = self.projects().snapshot();
        if text.is_none() {
            projects.clear();
        }
        let config = Config::parse(text.unwrap_or_default(), "config.toml");
        let config = config.map_err(|error| error.to_string())?;

        let approved = || projects.iter().filter(|project| project.is_approved());
        let mut environment = Environment::default();
        // Its variables say where spans go, if nothing else does.
        let traces = self.gateway.tracer().is_built_in();
        if traces
            || config.needs_environment()
            || approved().any(|project| project.needs_environment())
        {
            let mut known = self.environment.clone();
            match known.wait_for(Option::is_some).await {
                Ok(found) => environment = found.clone().unwrap_or_default(),
                Err(_) => return Err("the daemon is ending".into()),
            }
        }
        let mut problems: Vec<String> = loading.trouble.iter().cloned().collect();
        problems.extend(loading.env_trouble.iter().cloned());
        problems.extend(environment.overlay(&loading.env, &self.places.env));
        let mut commands: BTreeSet<String> = config.commands();
        commands.extend(approved().flat_map(|project| project.commands()));
        let run = |spec| {
            let launcher = self.launcher.clone();
            async move { launcher.told(spec, WITHIN, MOST).await }
        };
        let how = (self.places.home.as_path(), trigger == Trigger::Asked);
        let asked = &mut loading.commands;
        asked.answer(commands, &mut environment, how, run).await;
        let mut secrets = config.secrets();
        for (name, user) in approved().flat_map(|project| project.secrets()) {
            secrets.entry(name).or_default().insert(user);
        }
        let wanted: BTreeSet<String> = secrets.keys().cloned().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(wanted, trigger == Trigger::Asked).await);

        let settings = Settings::resolve(config, &environment, &self.places.home);
        let mut servers = settings.servers.clone();
        let taken: Vec<String> = servers
            .keys()
            .chain(settings.disabled.keys())
            .cloned()
            .collect();
        let mut outlooks = BTreeMap::new();
        for project in &projects {
            let terms = settings.limits.terms(settings.on_change);
            let home = &self.places.home;
            let (outlook, own) = project.resolve(&taken, &environment, home, terms);
            servers.extend(own.into_iter().map(|server| (server.key(), server)));
            outlooks.insert(Arc::clone(&project.root), Arc::new(outlook));
        }
        let views = (settings.agents.clone(), outlooks);
        if loading.views.as_ref() != Some(&views) {
            self.gateway.set_views(&views.0, views.1.clone());
            loading.views = Some(views);
        }
        self.apply(&settings, loading.good.is_some());
        self.send_spans(&mut loading.telemetry, &settings.telemetry);
        let changes = self.gateway.upstreams().apply(&servers);
        problems.extend(settings.all_problems());
        for problem in &problems {
            warn!(problem, "configuration");
        }
        info!(?trigger, ?changes, "configuration loaded");
        let mut standing = self.standing();
        standing.problems.clone_from(&problems);
        standing.unread = loading.unread;
        standing.disabled.clone_from(&settings.disabled);
        standing.secrets = secrets;
        standing.sources.clone_from(&settings.sources);
        drop(standing);
        let policy = settings.policy.clone();
        self.show(settings, text.unwrap_or_default());
        self.note(loading, &policy, &changes);
        self.projects().set_in_force(number);
        let differences = Differences::between(&loading.told, &servers);
        if matches!(trigger, Trigger::Start | Trigger::Asked) {
            loading.told = servers;
        }
        Ok(Report {
            differences,
            problems,
        })
    }

    /// Writes down what is otherwise than before.
    fn note(&self, loading: &mut Loading, policy: &Policies, changes: &Changes) {
        let audit = self.gateway.audit();
        // What the daemon does itself is of nobody.
        let by = Origin::default();
        if loading.policy.as_ref() != Some(policy) {
            let count = match policy.count() {
                1 => "1 rule".to_owned(),
                count => format!("{count} rules"),
            };
            audit.note(Deed::PolicyLoaded, &count, &by);
            loading.policy = Some(policy.clone());
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
            audit.note(Deed::ServersChanged, &changed.join("; "), &by);
        }
    }

    /// What concerns no server. `is_said`: it is so by a file that could be read, or the absence of one.
    fn apply(&self, settings: &Settings, is_said: bool) {
        let allowed = &settings.limits;
        self.gateway
            .upstreams()
            .auth()
            .use_keyring(settings.keyring);
        self.gateway.set_policies(settings.policy.clone());
        let (enabled, terms) = settings.audit;
        self.gateway.audit().set_terms(enabled, terms);
        let upstreams = self.gateway.upstreams();
        upstreams.metrics().port.listen(settings.metrics);
        upstreams.set_starts(allowed.starts);
        // By a mere default nothing is thrown away that waits.
        let approvals = is_said.then(|| self.gateway.approvals());
        approvals.inspect(|of| of.set_terms(settings.approvals.clone()));
        self.runs.set_limits(settings.runs.clone());
        self.runs.pool().set_bounds(allowed.pool);
        self.runs.inspector().set_terms(settings.checks.clone());
        self.handles.set_terms(allowed.terms);
        self.activity.set_idle_exit(settings.idle_exit);
    }

    /// Something may have changed. Loads it if it did.
    pub(super) async fn look_again(self: &Arc<Self>) {
        let news = self.look_at_projects().await;
        let Ok(mut written) = written(&self.places).await else {
            return;
        };
        let (known, blank) = {
            let loading = self.loading.lock().await;
            let text = loading.good.as_ref().map(|good| good.text.as_str());
            (
                loading.fingerprint,
                text.unwrap_or_default().trim().is_empty(),
            )
        };
        if written.is_blank() && !blank {
            tokio::time::sleep(EMPTY).await;
            let Ok(after) = self::written(&self.places).await else {
                return;
            };
            written = after;
        }
        let trigger = if known != Some(written.fingerprint()) {
            Trigger::Watched
        } else if news {
            Trigger::Projects
        } else {
            return;
        };
        // Whatever is wrong stands in `status`.
        drop(self.load(trigger).await);
    }
}

async fn written(places: &Places) -> Result<Written, String> {
    let (config, env): (PathBuf, PathBuf) = (places.config.clone(), places.env.clone());
    let read = spawn_blocking(move || Written::read(&config, &env));
    read.await.map_err(|_| "the daemon is ending".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(config: Result<Option<&str>, &str>) -> Written {
        let config = config.map(|text| text.map(str::to_owned));
        Written {
            config: config.map_err(|why| ConfigError::Read {
                path: "c".into(),
                source: std::io::Error::other(why.to_owned()),
            }),
            env: Ok(String::new()),
        }
    }

    #[test]
    fn the_last_good_text_stays_until_there_is_a_good_one_again() {
        let mut loading = Loading::default();
        let path = Path::new("config.toml");
        let mut take = |config, text: Option<&str>, trouble: Option<&str>| {
            loading.take(written(config), path);
            assert_eq!(loading.good.as_ref().map(|g| g.text.as_str()), text);
            match (&loading.trouble, trouble) {
                (None, None) => {}
                (Some(told), Some(part)) => assert!(told.contains(part), "{told}"),
                other => panic!("{config:?}: {other:?}"),
            }
        };
        take(Ok(Some("[servers")), None, Some("not valid TOML"));
        take(Ok(None), Some(""), None);
        take(Ok(Some("# one")), Some("# one"), None);
        take(Ok(Some("servers = 1")), Some("# one"), Some("tables"));
        take(Err("no"), Some("# one"), Some("cannot read"));
        take(Ok(None), Some("# one"), Some("is gone"));
        take(Ok(Some("")), Some(""), None);
        take(Ok(Some("# two")), Some("# two"), None);
    }

    #[test]
    fn a_fingerprint_is_of_the_content() {
        let of = |config| written(config).fingerprint();
        assert_eq!(of(Ok(Some("a"))), of(Ok(Some("a"))));
        let all = [
            of(Ok(Some("a"))),
            of(Ok(Some(""))),
            of(Ok(None)),
            of(Err("x")),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one));
        }
    }
}
