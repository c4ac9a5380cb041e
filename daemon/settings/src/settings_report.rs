//! Lists the settings that apply to an agent, each with its origin.
//!
//! Invariant: no value is a secret: values with variables are shown unexpanded.

use std::time::Duration;

use mux_messages::{Setting, SettingSource};
use mux_sandbox::ProgramLimits;
use serde_json::{Value, json};

use super::{AgentView, ApprovalSettings, Settings};
use mux_config::{ConfigProblem, LineIndex, units::duration_text};

/// One setting in the report.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingRow {
    pub setting: Setting,
    /// The value is a number of bytes.
    pub is_size: bool,
    /// `[agents.NAME]` may override it.
    pub is_per_agent: bool,
}

/// The defaults that depend on the daemon's environment. They apply where the configuration has no
/// value.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostDefaults {
    /// Credentials are stored in the keyring.
    pub keyring: bool,
    /// There is a desktop that shows notifications.
    pub desktop: bool,
}

/// Collects the rows of a report.
struct ReportBuilder<'a> {
    lines: &'a LineIndex,
    /// The ignored values.
    problems: &'a [ConfigProblem],
    agent: Option<&'a str>,
    rows: Vec<SettingRow>,
}

impl Settings {
    /// Everything but servers.
    pub fn report(&self, agent: Option<&str>, host: HostDefaults) -> Vec<SettingRow> {
        let mut report = ReportBuilder {
            lines: &self.lines,
            problems: &self.problems,
            agent,
            rows: Vec::new(),
        };
        report.limits(self, self.runs.of(agent));
        report.of_agent(self, agent);
        report.approvals(&self.approvals, host.desktop);
        let check = &self.checks;
        report.row(&["check", "tsc"], json!(check.compiler));
        let defaults = &self.server_defaults;
        report.row(&["pins", "on_change"], json!(defaults.on_change));
        report.row(&["results", "fence"], json!(defaults.results.fence));
        report.row(&["results", "secrets"], json!(defaults.results.secrets));
        report.row(&["sandbox", "mode"], json!(defaults.sandbox_mode));
        let time_or_never = |limit: Option<Duration>| limit.map_or_else(|| json!("never"), time);
        report.row(&["daemon", "idle_exit"], time_or_never(self.idle_exit));
        report.row(&["daemon", "prestart"], time_or_never(self.prestart));
        report.row(&["history", "keep"], time(self.history.keep));
        report.size(&["history", "size"], self.history.size);
        let (enabled, retention) = self.audit;
        report.row(&["audit", "enabled"], json!(enabled));
        report.row(&["audit", "keep"], time(retention.keep));
        report.size(&["audit", "size"], retention.size);
        let listen = self.metrics.map(|address| address.to_string());
        report.row(&["metrics", "listen"], json!(listen));
        let keyring = if self.keyring.unwrap_or(host.keyring) {
            "auto"
        } else {
            "never"
        };
        report.row(&["daemon", "keyring"], json!(keyring));
        let endpoint = self.telemetry.as_ref().map(|to| match to {
            Ok(to) => to.shown.as_str(),
            Err((shown, _)) => shown,
        });
        report.row(&["telemetry", "endpoint"], json!(endpoint));
        report.rows
    }
}

impl ReportBuilder<'_> {
    fn limits(&mut self, settings: &Settings, run: &ProgramLimits) {
        let pool = &settings.limits.pool;
        let stored = &settings.limits.stored_values;
        for (name, value) in [
            ("wall", time(run.wall)),
            ("cpu", time(run.cpu)),
            ("calls", json!(run.calls)),
            ("calls_at_once", json!(run.calls_at_once)),
            ("timers", json!(run.timers)),
        ] {
            self.overridable("limits", name, &["limits", name], value);
        }
        for (name, bytes) in [
            ("argument", json!(run.argument)),
            ("console", json!(run.console)),
            ("source", json!(run.source)),
            ("emitted", json!(run.emitted)),
        ] {
            self.overridable("limits", name, &["limits", name], bytes)
                .is_size = true;
        }
        for (name, bytes) in [
            ("heap", u64::from(pool.memory.heap) << 20),
            ("buffers", u64::from(pool.memory.buffers) << 20),
            ("inline", stored.inline as u64),
            ("kept", stored.quota),
        ] {
            self.size(&["limits", name], bytes);
        }
        for (name, value) in [
            ("calls_per_server", json!(settings.limits.calls_per_server)),
            ("starts", json!(settings.limits.starts)),
            ("ask", time(settings.limits.ask.one)),
            ("ask_total", time(settings.limits.ask.total)),
            ("kept_for", time(stored.keep_for)),
            ("workers", json!(pool.ceiling)),
            ("queue", json!(pool.queue)),
        ] {
            self.row(&["limits", name], value);
        }
    }

    fn approvals(&mut self, settings: &ApprovalSettings, has_desktop: bool) {
        for (name, value) in [
            ("wait", time(settings.wait)),
            ("held", json!(settings.held)),
            ("held_per_run", json!(settings.held_per_run)),
            ("keep", time(settings.keep)),
            ("desktop", json!(settings.desktop.unwrap_or(has_desktop))),
        ] {
            self.row(&["approvals", name], value);
        }
        self.size(&["approvals", "log"], settings.log as u64);
    }

    /// The settings that `[agents.NAME]` may override.
    fn of_agent(&mut self, settings: &Settings, agent: Option<&str>) {
        let mode = settings.checks.of(agent);
        self.overridable("check", "", &["check", "mode"], json!(mode));
        let view: &AgentView = settings.agents.of(agent);
        self.overridable("exclude", "", &["exclude"], json!(view.exclude));
        self.overridable("direct", "", &["direct"], json!(view.direct));
        let profile = agent.and_then(|agent| settings.profiles.get(agent));
        self.overridable("profile", "", &["profile"], json!(profile));
        let rules = settings.policy.of(agent, &[]).own.rules().iter();
        let rules: Vec<String> = rules.map(|rule| rule.summary()).collect();
        self.overridable("policy", "", &["policy"], json!(rules));
        // `direct` may also come from server entries.
        if let Some(row) = self
            .rows
            .iter_mut()
            .find(|row| row.setting.name == "direct")
            && row.setting.from == SettingSource::Default
            && !view.direct.is_empty()
        {
            row.setting.from = SettingSource::Config;
        }
    }

    /// Adds a setting for which `[agents.NAME] section.key` overrides `keys`.
    fn overridable(
        &mut self,
        section: &str,
        key: &str,
        keys: &[&str],
        value: Value,
    ) -> &mut SettingRow {
        let mut own = vec!["agents", self.agent.unwrap_or_default(), section];
        own.extend(Some(key).filter(|key| !key.is_empty()));
        let line = self.agent.and_then(|_| self.holds(&own));
        let row = self.row(keys, value);
        if line.is_some() {
            row.setting.from = SettingSource::Agent;
            row.setting.line = line;
        }
        row.is_per_agent = true;
        row
    }

    fn size(&mut self, keys: &[&str], bytes: u64) {
        self.row(keys, json!(bytes)).is_size = true;
    }

    fn row(&mut self, keys: &[&str], value: Value) -> &mut SettingRow {
        let line = self.holds(keys);
        self.rows.push_mut(SettingRow {
            setting: Setting {
                name: keys.join("."),
                value,
                from: match line {
                    Some(_) => SettingSource::Config,
                    None => SettingSource::Default,
                },
                line,
                file: None,
            },
            is_size: false,
            is_per_agent: false,
        })
    }

    /// The line of a key, unless its value is ignored.
    fn holds(&self, keys: &[&str]) -> Option<usize> {
        let ignored = self.problems.iter().any(|problem| problem.keys == keys);
        self.lines.at(keys).filter(|_| !ignored)
    }
}

fn time(time: Duration) -> Value {
    json!(duration_text(time))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use mux_config::{Config, environment::Environment};

    #[test]
    fn each_setting_has_its_origin() {
        use SettingSource::{Agent, Config as File, Default as Nobody};

        let text = "[limits]\nwall = \"20s\"\ncpu = \"9days\"\n[audit]\nkeep = \"30days\"\n[check]\nmode = \"warn\"\n\
                    [[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n\
                    [servers.s]\ncommand = \"x\"\ntools = { direct = [\"show\"] }\n\
                    [agents.small]\nexclude = [\"b.*\"]\nlimits = { wall = \"5s\", calls = 0 }\ncheck = \"off\"\n\
                    policy = []\n";
        let config = Config::parse(text, "c").unwrap();
        let settings = Settings::resolve(config, &Environment::default(), Path::new("/home/me"));
        let of = |agent, name: &str| {
            let rows = settings.report(agent, HostDefaults::default());
            let mut settings = rows.into_iter().map(|row| row.setting);
            let setting = settings.find(|setting| setting.name == name).unwrap();
            (setting.value, setting.from, setting.line)
        };
        for (agent, name, value, origin, line) in [
            (None, "limits.wall", json!("20s"), File, Some(2)),
            (Some("small"), "limits.wall", json!("5s"), Agent, Some(16)),
            (None, "limits.cpu", json!("10s"), Nobody, None),
            (Some("small"), "limits.calls", json!(1000), Nobody, None),
            (Some("small"), "check.mode", json!("off"), Agent, Some(17)),
            (Some("other"), "check.mode", json!("warn"), File, Some(7)),
            (Some("small"), "exclude", json!(["b.*"]), Agent, Some(15)),
            (None, "exclude", json!([]), Nobody, None),
            (None, "direct", json!(["s.show"]), File, None),
            (None, "policy", json!(["deny a.*"]), File, Some(8)),
            (Some("small"), "policy", json!([]), Agent, Some(18)),
            (None, "pins.on_change", json!("refuse"), Nobody, None),
            (None, "audit.keep", json!("30d"), File, Some(5)),
            (None, "audit.enabled", json!(true), Nobody, None),
            (None, "audit.size", json!(64 << 20), Nobody, None),
        ] {
            assert_eq!(of(agent, name), (value, origin, line), "{agent:?} {name}");
        }
    }
}
