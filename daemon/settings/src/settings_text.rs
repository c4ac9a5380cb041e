//! The current settings as a `config.toml`, each value with its origin as a comment.
//!
//! Invariant: the output is a configuration that resolves to the same settings, except for entries with secrets,
//! which are comments. No value of the output is a secret.

mod written_secrets;

use std::fmt::Write as _;

use mux_messages::SettingSource;
use serde_json::Value as Json;
use toml::{Table, Value};

use self::written_secrets::without_secrets;
use super::{HostDefaults, SettingRow, Settings};
use mux_config::{LineIndex, units::size_text};

/// The column of the comments, unless a value is longer.
const COMMENT_COLUMN: usize = 32;

impl Settings {
    /// The section of `agent` has every setting that applies to it, including the general settings.
    pub fn text(&self, agent: Option<&str>, host: HostDefaults) -> String {
        let mut text = SettingsText {
            lines: &self.lines,
            text: String::new(),
        };
        let sections = |name| self.written.members(name);
        let shown = agent.filter(|agent| sections("agents").any(|(name, _)| name == *agent));
        if let Some(agent) = shown {
            text.agent(self, agent, host);
        }
        text.sections(&self.report(None, host));
        text.telemetry(self);
        let rules = self.written.at(&["policy"]).and_then(Value::as_array);
        for (index, rule) in rules.into_iter().flatten().enumerate() {
            text.rule(index + 1, rule);
        }
        for (name, entry) in sections("agents").filter(|(name, _)| Some(*name) != shown) {
            text.entry(&["agents", name], entry);
        }
        for section in ["sources", "servers"] {
            for (name, entry) in sections(section) {
                text.entry(&[section, name], entry);
            }
        }
        text.text
    }
}

struct SettingsText<'a> {
    lines: &'a LineIndex,
    text: String,
}

impl SettingsText<'_> {
    fn sections(&mut self, rows: &[SettingRow]) {
        let keys = rows
            .iter()
            .filter_map(|row| row.setting.name.split_once('.'));
        let mut sections: Vec<&str> = Vec::new();
        for (section, _) in keys {
            if section != "telemetry" && !sections.contains(&section) {
                sections.push(section);
            }
        }
        for section in sections {
            self.header(&format!("[{section}]"));
            for row in rows {
                if let Some((_, key)) = row
                    .setting
                    .name
                    .split_once('.')
                    .filter(|(of, _)| *of == section)
                {
                    self.row(&[key], row);
                }
            }
        }
    }

    /// Every setting that applies to an agent. The agent's own rules are written. Without any, the general rules
    /// apply.
    fn agent(&mut self, settings: &Settings, agent: &str, host: HostDefaults) {
        self.header(&format!("[{}]", joined(&["agents", agent])));
        let rows = settings.report(Some(agent), host);
        for row in rows.iter().filter(|row| row.is_per_agent) {
            match row.setting.name.as_str() {
                "policy" => match settings.written.at(&["agents", agent, "policy"]) {
                    Some(rules) => self.line("", &assignment(&["policy"], rules), &origin(row)),
                    None => self.line("# ", "policy: the rules of [[policy]]", "default"),
                },
                "check.mode" => self.row(&["check"], row),
                name => self.row(&name.split('.').collect::<Vec<_>>(), row),
            }
        }
    }

    fn row(&mut self, keys: &[&str], row: &SettingRow) {
        match toml_value(row) {
            Some(value) => self.line("", &assignment(keys, &value), &origin(row)),
            None => self.line("# ", &format!("{}: not set", joined(keys)), &origin(row)),
        }
    }

    fn telemetry(&mut self, settings: &Settings) {
        let written = settings.written.at(&["telemetry"]);
        let written = written.and_then(Value::as_table);
        let written = written.cloned().unwrap_or_default();
        let prefix = self.table(&["telemetry"], &written);
        if !written.contains_key("enabled") {
            let on = assignment(&["enabled"], &Value::Boolean(true));
            self.line(prefix, &on, "default");
        }
        if written.contains_key("endpoint") {
            return;
        }
        match &settings.telemetry {
            // If it were written, it would not get the headers of the environment.
            Some(Ok(to)) => {
                let endpoint = assignment(&["endpoint"], &Value::String(to.shown.clone()));
                self.line("# ", &endpoint, "environment");
            }
            Some(Err((_, problem))) => self.line("# ", "endpoint: not usable", problem),
            None => self.line("# ", "endpoint: not set", "default"),
        }
    }

    fn rule(&mut self, number: usize, rule: &Value) {
        let line = self.lines.at(&["policy", &number.to_string()]);
        self.header(&format!("[[policy]]  # {}", config_line(line)));
        for (key, value) in rule.as_table().into_iter().flatten() {
            _ = writeln!(self.text, "{}", assignment(&[key], value));
        }
    }

    fn entry(&mut self, keys: &[&str], entry: &Value) {
        match entry {
            Value::Table(entry) => _ = self.table(keys, entry),
            _ => self.header(&format!("# [{}] is not a table", joined(keys))),
        }
    }

    /// Writes a table, as a comment if it has secrets. Returns the prefix of each of its lines.
    fn table(&mut self, keys: &[&str], table: &Table) -> &'static str {
        let (table, has_secrets) = without_secrets(table);
        let prefix = if has_secrets { "# " } else { "" };
        let name = joined(keys);
        if has_secrets {
            self.header(&format!(
                "# [{name}] has secrets, which are not shown:\n# [{name}]"
            ));
        } else {
            self.header(&format!("[{name}]"));
        }
        for (key, value) in &table {
            let place: Vec<&str> = keys.iter().copied().chain([key.as_str()]).collect();
            let line = config_line(self.lines.at(&place));
            self.line(prefix, &assignment(&[key], value), &line);
        }
        prefix
    }

    fn header(&mut self, header: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        _ = writeln!(self.text, "{header}");
    }

    /// `prefix` precedes each line of a value that has several.
    fn line(&mut self, prefix: &str, text: &str, comment: &str) {
        let text = format!("{prefix}{}", text.replace('\n', &format!("\n{prefix}")));
        let comment = comment.replace(char::is_control, " ");
        _ = writeln!(self.text, "{text:COMMENT_COLUMN$}  # {comment}");
    }
}

fn origin(row: &SettingRow) -> String {
    match row.setting.from {
        SettingSource::Default => "default".into(),
        _ => config_line(row.setting.line),
    }
}

fn config_line(line: Option<usize>) -> String {
    match line {
        Some(line) => format!("config.toml:{line}"),
        None => "config.toml".into(),
    }
}

fn toml_value(row: &SettingRow) -> Option<Value> {
    let value = Value::try_from(&row.setting.value).ok()?;
    match value.as_integer().and_then(|size| u64::try_from(size).ok()) {
        Some(bytes) if row.is_size => {
            let text = size_text(bytes);
            Some(if text.ends_with('B') {
                Value::String(text)
            } else {
                value
            })
        }
        _ => Some(value),
    }
}

/// `a.b = value`, on one line unless a string has several lines.
fn assignment(keys: &[&str], value: &Value) -> String {
    format!("{} = {value}", joined(keys))
}

/// `servers."a b"`
fn joined(keys: &[&str]) -> String {
    let is_bare = |key: &str| {
        let mut letters = key.bytes();
        !key.is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
    };
    let keys = keys.iter().map(|key| {
        if is_bare(key) {
            (*key).to_owned()
        } else {
            Json::from(*key).to_string()
        }
    });
    keys.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use mux_config::{Config, environment::Environment, schema};

    const FULL: &str = r#"
[limits]
wall = "90s"
calls = 7
argument = "1MiB"
console = 1025
kept_for = "36h"
[daemon]
idle_exit = "never"
keyring = "never"
[check]
mode = "warn"
tsc = "/opt/tsc"
[pins]
on_change = "warn"
[results]
fence = false
secrets = "mask"
[audit]
keep = "30d"
size = "8MiB"
[metrics]
listen = "127.0.0.1:9464"
[approvals]
wait = "90s"
desktop = true
[telemetry]
endpoint = "http://127.0.0.1:4318"
headers = { Authorization = "Bearer ${keyring:OTEL}" }
service = "mine"
[[policy]]
match = ["files.*", "a\"b"]
arguments = { path = { below = "/home/me" }, "items[*].kind" = ["a"] }
annotations = { read_only = true }
action = "allow"
[[policy]]
match = "files.*"
action = "deny"
reason = '''two
lines'''
[agents.small]
exclude = ["git.*"]
check = "off"
limits = { wall = "5s", console = "1KiB" }
policy = [{ match = "*", action = "ask" }]
[agents."odd name"]
direct = ["files.read"]
[sources.api]
openapi = "https://api.example.com/openapi.json"
auth = { key = "${keyring:API}", login = { username = "me", password = "${PASSWORD}" } }
tools = { exclude = ["delete_*"] }
[servers.files]
command = "mcp-server-filesystem"
args = ["/home/me/notes", "--flag=x"]
env = { TOKEN = "${keyring:FILES}", "a.b" = "plain", HOME = "${HOME}" }
tools = { direct = ["read"] }
call_timeout = "90s"
[servers.off]
url = "https://x.example/mcp"
enabled = false
"#;

    fn resolve(text: &str) -> Settings {
        let config = Config::parse(text, "config.toml").unwrap();
        let known = ["HOME", "PASSWORD"].map(|name| (name.into(), "/known".into()));
        let mut environment = Environment::of(known);
        let named = ["OTEL", "API", "FILES"].map(|name| (name.into(), Ok("named".into())));
        environment.set_secrets(named.into());
        Settings::resolve(config, &environment, Path::new("/home/me"))
    }

    fn values(settings: &Settings, agent: Option<&str>) -> Vec<(String, Json)> {
        let rows = settings.report(agent, HostDefaults::default());
        rows.into_iter()
            .map(|row| (row.setting.name, row.setting.value))
            .collect()
    }

    #[test]
    fn text_is_a_configuration_with_the_same_settings() {
        for written in ["", FULL] {
            for agent in [None, Some("small"), Some("odd name"), Some("unknown")] {
                let settings = resolve(written);
                assert_eq!(settings.problems, [], "{written}");
                let text = settings.text(agent, HostDefaults::default());
                let again = resolve(&text);
                assert_eq!(again.problems, [], "{text}");
                for agent in [None, Some("small"), Some("odd name")] {
                    assert_eq!(values(&again, agent), values(&settings, agent), "{text}");
                }
                assert_eq!(again.servers, settings.servers, "{text}");
                assert!(again.servers.values().all(|one| one.definition.is_ok()));
                assert_eq!(again.disabled, settings.disabled);
                assert_eq!(again.policy, settings.policy);
                assert_eq!(again.agents, settings.agents);
                assert!(again.telemetry == settings.telemetry, "{text}");
            }
        }
    }

    #[test]
    fn values_have_documented_units_and_their_origin() {
        let text = resolve(FULL).text(None, HostDefaults::default());
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for line in [
            "wall = \"1m 30s\" # config.toml:3",
            "console = 1025 # config.toml:6",
            "emitted = \"16MiB\" # default",
            "kept_for = \"36h\" # config.toml:7",
            "idle_exit = \"never\" # config.toml:9",
            "keep = \"30d\" # config.toml:20",
            "keyring = \"never\" # config.toml:10",
            "[[policy]] # config.toml:32",
            "command = \"mcp-server-filesystem\" # config.toml:53",
        ] {
            assert!(lines.iter().any(|known| known == line), "{line}\n{text}");
        }
        let text = resolve("").text(None, HostDefaults::default());
        let of_agent = resolve(FULL).text(Some("small"), HostDefaults::default());
        assert!(
            of_agent.starts_with("[agents.small]\nlimits.wall = \"5s\""),
            "{of_agent}"
        );
        // Every key of a section is there.
        let schema = serde_json::to_value(schema::json_schema()).unwrap();
        for (section, of) in schema["properties"].as_object().unwrap() {
            let Some(of) = of["$ref"].as_str() else {
                continue;
            };
            let of = of.rsplit('/').next().unwrap();
            for key in schema["$defs"][of]["properties"]
                .as_object()
                .unwrap()
                .keys()
            {
                let is_there = text.lines().any(|line| {
                    let line = line.trim_start_matches("# ");
                    line.starts_with(&format!("{key} = ")) || line.starts_with(&format!("{key}: "))
                });
                let has_no_default = ["headers", "service"].contains(&key.as_str());
                assert!(is_there || has_no_default, "{section}.{key}\n{text}");
            }
        }
    }

    #[test]
    fn entries_with_secrets_are_comments_without_them() {
        let text = resolve(
            "[servers.web]\nurl = \"https://user:canary-1@example.com/mcp?key=canary-2\"\n\
             headers = { Authorization = \"Bearer canary-3\" }\nenabled = false\n\
             [servers.a]\ncommand = \"x\"\nargs = [\"--token\", \"canary-4\"]\nenv = { A = \"canary-1b-of-entry\" }\n\
             [servers.b]\ncommand = \"x\"\noauth = { client_secret = \"canary-5\", auth = \"basic\" }\n\
             [servers.c]\ncommand = \"x\"\nenv = { TOKEN = \"${TOKEN:-canary-6}\", API_KEY = \"\"\"canary-7x\nand-8\"\"\" }\n\
             [sources.d]\nopenapi = \"x\"\nauth = { k = \"canary-9\", l = { username = \"me\", password = \"canary-0\" } }\n\
             [telemetry]\nendpoint = \"http://me:canary-x@h\"\n",
        )
        .text(None, HostDefaults::default());
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("auth = \"basic\""), "{text}");
        let again = resolve(&text);
        assert_eq!(again.problems, []);
        assert!(
            again.servers.is_empty() && again.disabled.is_empty(),
            "{text}"
        );
        assert!(text.contains("# [servers.web] has secrets"), "{text}");
    }
}
