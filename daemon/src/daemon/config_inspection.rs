//! Reports the active configuration, and checks a configuration without applying it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use tokio::task::spawn_blocking;

use super::{Daemon, sandbox_grants::check_grants, sandbox_hosts::host_problems};
use mux_catalog::{ListKey, ToolSet};
use mux_config::{Config, ConfigProblem};
use mux_messages::{ConfigReport, Setting};
use mux_policy::PolicySet;
use mux_settings::{HostDefaults, Settings};

/// An agent's active settings.
#[derive(Debug, Default)]
pub struct ConfigView {
    pub settings: Vec<Setting>,
    /// The same as a `config.toml`.
    pub text: String,
    /// The configuration has a section for the agent.
    pub has_agent: bool,
}

impl Daemon {
    pub fn config_view(&self, agent: Option<&str>) -> ConfigView {
        let status = self.config_status.lock();
        let in_force = status.in_force.clone();
        drop(status);
        let Some(in_force) = in_force else {
            return ConfigView::default();
        };
        let host = HostDefaults {
            keyring: self.gateway.upstreams().auth().uses_keyring_by_default(),
            desktop: self.gateway.approvals().has_desktop(),
        };
        let rows = in_force.report(agent, host);
        ConfigView {
            settings: rows.into_iter().map(|row| row.setting).collect(),
            text: in_force.text(agent, host),
            has_agent: agent.is_none_or(|agent| in_force.lines.at(&["agents", agent]).is_some()),
        }
    }

    /// The rules of a configuration that has not been applied.
    pub async fn policies_of(&self, text: String) -> Result<PolicySet, String> {
        let home = self.paths.home.clone();
        let compile = spawn_blocking(move || {
            let config = Config::parse(&text, "the file").map_err(|error| error.to_string())?;
            // An invalid rule keeps its error.
            let policy = &config.policy;
            let agents = &config.agents;
            Ok(PolicySet::resolve(policy, agents, &home, &mut Vec::new()))
        });
        let policies = compile.await.map_err(|_| "the daemon is ending".to_owned());
        policies.flatten()
    }

    /// The lines of the configuration file on which servers and sources are defined, by name.
    pub fn lines_of_servers(&self, names: &[&str]) -> BTreeMap<String, usize> {
        let status = self.config_status.lock();
        let Some(in_force) = &status.in_force else {
            return BTreeMap::new();
        };
        let lines = names.iter().filter_map(|name| {
            let of = |section| in_force.lines.at(&[section, name]);
            Some(((*name).to_owned(), of("servers").or_else(|| of("sources"))?))
        });
        lines.collect()
    }

    /// Checks a configuration. None of its commands is run.
    pub async fn look_at_config(&self, text: &str, file: &Path) -> Result<ConfigReport, String> {
        let config = match Config::parse(text, &file.display().to_string()) {
            Ok(config) => config,
            Err(error) => {
                let (line, message) = error.at();
                let mistakes = vec![mux_messages::ConfigProblem {
                    line,
                    message,
                    advisory: false,
                }];
                return Ok(ConfigReport {
                    problems: mistakes,
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
        let env = std::fs::read_to_string(&self.paths.env).unwrap_or_default();
        let of_env = environment.apply_env_file(&env, &self.paths.env);
        environment.assume_command_values(config.commands());
        let secrets = config.secrets().into_keys().collect();
        let auth = self.gateway.upstreams().auth();
        environment.set_secrets(auth.answers(secrets, false).await);
        let settings = Settings::resolve(config, &environment, &self.paths.home);
        let mut of_surroundings = check_grants(&settings).await.problems;
        of_surroundings.extend(host_problems(&settings).await);
        of_surroundings.extend(self.override_problems(&settings).await);
        let of_env = of_env.into_iter().map(ConfigProblem::of_file);
        let of_servers = settings.unusable_servers().map(|(_, problem)| problem);
        let problems = of_env
            .chain(settings.problems.iter().cloned())
            .chain(of_servers)
            .map(|problem| (problem, false));
        let problems = problems.chain(of_surroundings.into_iter().map(|problem| (problem, true)));
        let mistakes = problems.map(|(problem, advisory)| {
            let keys: Vec<&str> = problem.keys.iter().map(String::as_str).collect();
            mux_messages::ConfigProblem {
                line: settings.lines.near(&keys),
                message: problem.message,
                advisory,
            }
        });
        let mut mistakes: Vec<mux_messages::ConfigProblem> = mistakes.collect();
        mistakes.sort_by_key(|mistake| mistake.line);
        Ok(ConfigReport {
            problems: mistakes,
            servers: settings.servers.len() + settings.disabled.len(),
        })
    }

    /// The overrides that do not match the tools that their server last listed.
    async fn override_problems(&self, settings: &Settings) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        for server in settings.servers.values() {
            let Ok(definition) = &server.definition else {
                continue;
            };
            if definition.overrides.is_empty() {
                continue;
            }
            let key = ListKey::of(&server.identity(), definition);
            let catalog = Arc::clone(self.gateway.upstreams().catalog());
            let exclude = definition.exclude.clone();
            let overrides = definition.overrides.clone();
            // A list can be long.
            let found = spawn_blocking(move || {
                let tools = catalog.lists().recall(&key);
                tools.map(|tools| ToolSet::override_mistakes(tools, &exclude, &overrides))
            });
            let mistakes = found.await.ok().flatten().into_iter().flatten();
            let section = settings.section_of(&server.name);
            let name = &server.name;
            // The errors of an entry itself are already known.
            let new = mistakes.filter(|mistake| !mistake.is_of_entry);
            problems.extend(new.map(|mistake| {
                let tool = &mistake.written;
                let message = format!("[{section}.{name}.override.{tool}]: {}", mistake.message());
                ConfigProblem::at(&[section, name, "override", tool], message)
            }));
        }
        problems
    }
}
