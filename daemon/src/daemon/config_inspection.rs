//! What is in force, for the eye; and a configuration that is looked at before it is.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::Daemon;
use mux_config::{Config, LineIndex, parse_errors};
use mux_settings::{SettingRow, Settings};

/// The configuration that was put in force last.
#[derive(Debug)]
pub(super) struct ActiveConfig {
    pub(super) settings: Settings,
    pub(super) lines: LineIndex,
}

/// Something that is wrong, and where.
#[derive(Debug)]
pub struct ConfigMistake {
    pub line: Option<usize>,
    pub message: String,
}

/// What a configuration would be worth.
#[derive(Debug)]
pub struct ConfigInspection {
    pub mistakes: Vec<ConfigMistake>,
    pub servers: usize,
}

impl Daemon {
    /// The settings for an agent, and whether anything is said of it.
    pub fn report(&self, agent: Option<&str>) -> (Vec<SettingRow>, bool) {
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
    pub async fn look_at_config(
        &self,
        text: &str,
        file: &Path,
    ) -> Result<ConfigInspection, String> {
        let lines = LineIndex::of(text);
        let config = match Config::parse(text, &file.display().to_string()) {
            Ok(config) => config,
            Err(error) => {
                let (line, message) = error.at();
                let mistakes = vec![ConfigMistake { line, message }];
                return Ok(ConfigInspection {
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
        let mut problems = environment.apply_env_file(&env, &self.places.env);
        environment.assume_command_values(config.commands());
        let secrets = config.secrets().into_keys().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(secrets, false).await);
        let settings = Settings::resolve(config, &environment, &self.places.home);
        problems.extend(settings.all_problems());
        let mistakes = problems.into_iter().map(|message| {
            let place = parse_errors::place(&message);
            let keys: Vec<&str> = place.iter().map(String::as_str).collect();
            ConfigMistake {
                line: lines.near(&keys),
                message,
            }
        });
        let mut mistakes: Vec<ConfigMistake> = mistakes.collect();
        mistakes.sort_by_key(|mistake| mistake.line);
        Ok(ConfigInspection {
            mistakes,
            servers: settings.servers.len() + settings.disabled.len(),
        })
    }

    /// From now on this is what is shown.
    pub(super) fn show(&self, settings: Settings, text: &str) {
        let lines = LineIndex::of(text);
        self.standing().in_force = Some(Arc::new(ActiveConfig { settings, lines }));
    }
}
