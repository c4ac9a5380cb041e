//! What is in force, for the eye; and a configuration that is looked at before it is.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::Daemon;
use mux_config::{Config, Lines, mistake};
use mux_settings::{Row, Settings};

/// The configuration that was put in force last.
#[derive(Debug)]
pub(super) struct InForce {
    pub(super) settings: Settings,
    pub(super) lines: Lines,
}

/// Something that is wrong, and where.
#[derive(Debug)]
pub struct Mistake {
    pub line: Option<usize>,
    pub message: String,
}

/// What a configuration would be worth.
#[derive(Debug)]
pub struct Looked {
    pub mistakes: Vec<Mistake>,
    pub servers: usize,
}

impl Daemon {
    /// The settings for an agent, and whether anything is said of it.
    pub fn report(&self, agent: Option<&str>) -> (Vec<Row>, bool) {
        let standing = self.standing();
        let in_force = standing.in_force.clone();
        drop(standing);
        let Some(in_force) = in_force else {
            return (Vec::new(), false);
        };
        let said = agent.is_none_or(|agent| in_force.lines.at(&["agents", agent]).is_some());
        (in_force.settings.report(&in_force.lines, agent), said)
    }

    /// The lines on which the user's own servers stand.
    pub fn lines_of_servers(&self, names: &[&str]) -> BTreeMap<String, usize> {
        let standing = self.standing();
        let Some(in_force) = &standing.in_force else {
            return BTreeMap::new();
        };
        let lines = names.iter().filter_map(|name| {
            let of = |section| in_force.lines.at(&[section, name]);
            Some(((*name).to_owned(), of("servers").or_else(|| of("sources"))?))
        });
        lines.collect()
    }

    /// What is wrong with a configuration. None of its commands is run.
    pub async fn look_at_config(&self, text: &str, file: &Path) -> Result<Looked, String> {
        let lines = Lines::of(text);
        let config = match Config::parse(text, &file.display().to_string()) {
            Ok(config) => config,
            Err(error) => {
                let (line, message) = error.at();
                let mistakes = vec![Mistake { line, message }];
                return Ok(Looked {
                    mistakes,
                    servers: 0,
                });
            }
        };
        let mut environment = {
            let mut known = self.environment.clone();
            match known.wait_for(Option::is_some).await {
                Ok(found) => found.clone().unwrap_or_default(),
                Err(_) => return Err("the daemon is ending".into()),
            }
        };
        let env = std::fs::read_to_string(&self.places.env).unwrap_or_default();
        let mut problems = environment.overlay(&env, &self.places.env);
        environment.suppose(config.commands());
        let secrets = config.secrets().into_keys().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(secrets, false).await);
        let settings = Settings::resolve(config, &environment, &self.places.home);
        problems.extend(settings.all_problems());
        let mistakes = problems.into_iter().map(|message| {
            let place = mistake::place(&message);
            let keys: Vec<&str> = place.iter().map(String::as_str).collect();
            Mistake {
                line: lines.near(&keys),
                message,
            }
        });
        let mut mistakes: Vec<Mistake> = mistakes.collect();
        mistakes.sort_by_key(|mistake| mistake.line);
        Ok(Looked {
            mistakes,
            servers: settings.servers.len() + settings.disabled.len(),
        })
    }

    /// From now on this is what is shown.
    pub(super) fn show(&self, settings: Settings, text: &str) {
        let lines = Lines::of(text);
        self.standing().in_force = Some(Arc::new(InForce { settings, lines }));
    }
}
