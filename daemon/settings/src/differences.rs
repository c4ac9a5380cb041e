//! Compares two configurations. No I/O.
//!
//! Invariant: only keys are named, never values, which may be secrets.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use mux_messages::{SectionChange, SettingSource};
use mux_policy::PolicySet;

use super::{
    HostDefaults, ProcessServer, RemoteServer, ServerDefinition, ServerEndpoint, ServerSettings,
    SettingRow, Settings, SourceDefinition,
};

/// The current configuration, with the servers of approved projects.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    pub servers: BTreeMap<String, ServerSettings>,
    /// `None` before the first configuration was read.
    pub settings: Option<Arc<Settings>>,
    /// The named secrets that entries refer to.
    pub secrets: BTreeSet<String>,
}

/// The changes from one configuration to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigChanges {
    /// Servers and sources.
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Changed servers, each with the keys that differ.
    pub changed: BTreeMap<String, Vec<String>>,
    pub unchanged: Vec<String>,
    /// The names above that belong to sources.
    pub sources: BTreeSet<String>,
    /// Everything else, by section.
    pub sections: Vec<SectionChange>,
}

impl ConfigChanges {
    pub fn between(old: &LoadedConfig, new: &LoadedConfig) -> Self {
        let before = &old.servers;
        let after = &new.servers;
        let mut found = Self {
            removed: servers_missing_in(before, after),
            added: servers_missing_in(after, before),
            ..Self::default()
        };
        for (name, server) in after {
            match before.get(name) {
                Some(old) if old == server => found.unchanged.push(name.clone()),
                Some(old) => drop(
                    found
                        .changed
                        .insert(name.clone(), changed_keys(old, server)),
                ),
                None => {}
            }
        }
        let known = [old, new].map(|config| config.settings.as_deref());
        let sources = known.iter().flatten().flat_map(|known| &known.sources);
        found.sources = sources.cloned().collect();
        let mut sections = Vec::new();
        if let [Some(old), Some(new)] = known {
            sections.push(rule_changes(old, new));
            sections.extend(setting_changes(old, new));
            sections.push(agent_changes(old, new));
        }
        sections.push(name_changes("secrets", &old.secrets, &new.secrets));
        sections.retain(|section| !is_unchanged(section));
        found.sections = sections;
        found
    }

    /// Returns true if there are no differences.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.sections.is_empty()
    }
}

fn unchanged(section: &str) -> SectionChange {
    SectionChange {
        section: section.to_owned(),
        ..SectionChange::default()
    }
}

fn is_unchanged(section: &SectionChange) -> bool {
    *section == unchanged(&section.section)
}

fn name_changes(section: &str, old: &BTreeSet<String>, new: &BTreeSet<String>) -> SectionChange {
    SectionChange {
        added: new.difference(old).cloned().collect(),
        removed: old.difference(new).cloned().collect(),
        ..unchanged(section)
    }
}

/// A rule that was edited counts as removed and added. Rules that only moved count as a changed `order`.
fn rule_changes(old: &Settings, new: &Settings) -> SectionChange {
    let old = &old.policy;
    let new = &new.policy;
    let mut found = SectionChange {
        added: rules_missing_in(old, new),
        removed: rules_missing_in(new, old),
        ..unchanged("policy")
    };
    if is_unchanged(&found) && old != new {
        found.changed.push("order".into());
    }
    found
}

fn rules_missing_in(these: &PolicySet, of_those: &PolicySet) -> Vec<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    for rule in these.all() {
        *known.entry(rule.identity()).or_default() += 1;
    }
    let missing = of_those.all().filter(|rule| {
        let count = known.get_mut(&rule.identity()).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_none()
    });
    missing.map(|rule| rule.summary()).collect()
}

/// The settings that differ for agents without an entry, by section.
fn setting_changes(old: &Settings, new: &Settings) -> Vec<SectionChange> {
    let mut keys = {
        let host = HostDefaults::default();
        differing_rows(&old.report(None, host), &new.report(None, host))
    };
    if old.telemetry != new.telemetry && !keys.iter().any(|key| key.starts_with("telemetry.")) {
        // Headers and attributes are not in the report.
        keys.push("telemetry".into());
    }
    let mut sections: BTreeMap<&str, SectionChange> = BTreeMap::new();
    // Rules are compared one by one.
    for key in keys.iter().filter(|key| *key != "policy") {
        let (section, name) = key.split_once('.').unwrap_or((key, key));
        let change = sections.entry(section);
        let change = change.or_insert_with(|| unchanged(section));
        change.changed.push(name.to_owned());
    }
    sections.into_values().collect()
}

/// The agents that have gained or lost an entry, and the keys in which the others differ: `NAME.KEY`.
fn agent_changes(old: &Settings, new: &Settings) -> SectionChange {
    let mut found = name_changes("agents", &old.agent_names, &new.agent_names);
    for name in old.agent_names.intersection(&new.agent_names) {
        let own = |settings: &Settings| {
            let mut rows = settings.report(Some(name), HostDefaults::default());
            rows.retain(|row| {
                row.setting.from == SettingSource::Agent && row.setting.name != "policy"
            });
            rows
        };
        let keys = differing_rows(&own(old), &own(new)).into_iter();
        found
            .changed
            .extend(keys.map(|key| format!("{name}.{key}")));
    }
    found
}

/// The names of the settings that differ or that one side lacks.
fn differing_rows(old: &[SettingRow], new: &[SettingRow]) -> Vec<String> {
    let value = |rows: &[SettingRow], name: &str| {
        let row = rows.iter().find(|row| row.setting.name == name);
        row.map(|row| row.setting.value.clone())
    };
    let gone = old
        .iter()
        .filter(|row| value(new, &row.setting.name).is_none());
    let mut all: Vec<&SettingRow> = new.iter().chain(gone).collect();
    all.retain(|row| value(old, &row.setting.name) != value(new, &row.setting.name));
    all.into_iter()
        .map(|row| row.setting.name.clone())
        .collect()
}

fn servers_missing_in(
    these: &BTreeMap<String, ServerSettings>,
    in_those: &BTreeMap<String, ServerSettings>,
) -> Vec<String> {
    let these = these.keys();
    these
        .filter(|name| !in_those.contains_key(*name))
        .cloned()
        .collect()
}

fn changed_keys(old: &ServerSettings, new: &ServerSettings) -> Vec<String> {
    match (&old.definition, &new.definition) {
        (Ok(old), Ok(new)) => definition_changes(old, new),
        (Err(_), Ok(_)) => vec!["it is valid now".into()],
        (Ok(_), Err(_)) => vec!["it is no longer valid".into()],
        (Err(_), Err(_)) => vec!["it is invalid for another reason".into()],
    }
}

fn definition_changes(old: &ServerDefinition, new: &ServerDefinition) -> Vec<String> {
    let mut keys = match (&old.endpoint, &new.endpoint) {
        (ServerEndpoint::Process(old), ServerEndpoint::Process(new)) => process_changes(old, new),
        (ServerEndpoint::Remote(old), ServerEndpoint::Remote(new)) => remote_changes(old, new),
        (ServerEndpoint::Source(old), ServerEndpoint::Source(new)) => source_changes(old, new),
        _ => vec!["command".into(), "url".into()],
    };
    let same = [
        ("tools", old.exclude == new.exclude),
        ("override", old.overrides == new.overrides),
        ("share", old.share == new.share),
        ("roots", old.roots == new.roots),
        ("start", old.start == new.start),
        ("idle_close", old.idle_close == new.idle_close),
        ("retry", old.retry == new.retry),
        ("start_timeout", old.start_timeout == new.start_timeout),
        ("call_timeout", old.call_timeout == new.call_timeout),
        ("total_timeout", old.total_timeout == new.total_timeout),
        ("calls_at_once", old.calls_at_once == new.calls_at_once),
        ("limits.ask", old.ask.one == new.ask.one),
        ("limits.ask_total", old.ask.total == new.ask.total),
        ("pins", old.pins == new.pins),
        ("era", old.era == new.era),
        ("check_results", old.check_results == new.check_results),
        ("fence", old.results.fence == new.results.fence),
        ("secrets", old.results.secrets == new.results.secrets),
    ];
    keys.extend(differing_keys(&same));
    if keys.is_empty() {
        keys.push("its entry".into());
    }
    keys
}

fn process_changes(old: &ProcessServer, new: &ProcessServer) -> Vec<String> {
    let mut keys = differing_keys(&[
        ("command", old.command == new.command),
        ("args", old.args == new.args),
        ("cwd", old.cwd == new.cwd),
        ("sandbox", old.sandbox == new.sandbox),
    ]);
    keys.extend(differing_entries("env", &old.env, &new.env));
    keys
}

fn remote_changes(old: &RemoteServer, new: &RemoteServer) -> Vec<String> {
    let mut keys = differing_keys(&[
        ("url", old.url == new.url),
        ("transport", old.transport == new.transport),
        ("socket", old.socket == new.socket),
        ("oauth", old.oauth == new.oauth),
        ("account", old.account == new.account),
    ]);
    keys.extend(differing_entries("headers", &old.headers, &new.headers));
    keys
}

fn source_changes(old: &SourceDefinition, new: &SourceDefinition) -> Vec<String> {
    let mut keys = differing_keys(&[
        ("openapi or graphql", old.kind == new.kind),
        ("its description", old.description == new.description),
        ("base_url", old.base_url == new.base_url),
        ("origins", old.origins == new.origins),
        ("auth", old.credentials == new.credentials),
        ("account", old.account == new.account),
        ("scopes", old.scopes == new.scopes),
        ("rate", old.rate == new.rate),
        ("refresh", old.refresh == new.refresh),
        ("depth", old.depth == new.depth),
        ("max_functions", old.max_functions == new.max_functions),
    ]);
    keys.extend(differing_entries(
        "variables",
        &old.variables,
        &new.variables,
    ));
    keys.extend(differing_entries("headers", &old.headers, &new.headers));
    keys
}

fn differing_keys(keys: &[(&str, bool)]) -> Vec<String> {
    let keys = keys.iter().filter(|(_, same)| !same);
    keys.map(|(key, _)| (*key).to_owned()).collect()
}

/// The entries of a table whose values differ, or that one side lacks, as `table.name`.
fn differing_entries<V: PartialEq>(
    table: &str,
    old: &BTreeMap<String, V>,
    new: &BTreeMap<String, V>,
) -> Vec<String> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| old.get(*name) != new.get(*name));
    names
        .into_iter()
        .map(|name| format!("{table}.{name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Settings;
    use mux_config::{Config, environment::Environment};

    fn loaded(text: &str, secret: &str) -> LoadedConfig {
        let config = Config::parse(text, "c").unwrap();
        let secrets = config.secrets().into_keys().collect();
        let environment = Environment::of([("SECRET".into(), secret.into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        LoadedConfig {
            servers: settings.servers.clone(),
            settings: Some(Arc::new(settings)),
            secrets,
        }
    }

    #[test]
    fn differences_name_keys_and_never_values() {
        let old = loaded(
            "[servers.a]\ncommand = \"x\"\nenv = { T = \"${SECRET}\", U = \"1\", V = \"2\" }\n\
             [servers.b]\ncommand = \"y\"\n[servers.c]\ncommand = \"z\"\n\
             [servers.d]\nurl = \"https://h/\"\n[servers.e]\ncommand = \"e\"\n",
            "one",
        );
        let new = loaded(
            "[servers.a]\ncommand = \"x\"\nargs = [\"-v\"]\nenv = { T = \"${SECRET}\", U = \"1\", W = \"2\" }\n\
             [servers.b]\ncommand = \"y\"\n[servers.n]\ncommand = \"z\"\n\
             [servers.d]\nurl = \"https://h/\"\nheaders = { Authorization = \"t\" }\nretry = \"read_only\"\n\
             [servers.e]\ncommnd = \"e\"\n",
            "two",
        );
        let found = ConfigChanges::between(&old, &new);
        assert_eq!(found.added, ["n"]);
        assert_eq!(found.removed, ["c"]);
        assert_eq!(found.unchanged, ["b"]);
        assert_eq!(found.changed["a"], ["args", "env.T", "env.V", "env.W"]);
        assert_eq!(found.changed["d"], ["headers.Authorization", "retry"]);
        assert_eq!(found.changed["e"], ["it is no longer valid"]);
        assert_eq!(ConfigChanges::between(&new, &new).unchanged.len(), 5);
    }

    #[test]
    fn rules_settings_agents_and_secrets_are_named_by_section() {
        let old = loaded(
            "[limits]\nwall = \"20s\"\n[[policy]]\nmatch = \"a.*\"\naction = \"deny\"\n\
             [[policy]]\nmatch = \"b.*\"\naction = \"ask\"\n\
             [agents.kept]\nlimits = { calls = 5 }\n[agents.gone]\nexclude = [\"x.*\"]\n",
            "",
        );
        let new = loaded(
            "[limits]\nwall = \"30s\"\nheap = \"100MiB\"\n[audit]\nkeep = \"3days\"\n\
             [[policy]]\nmatch = \"b.*\"\naction = \"ask\"\n\
             [[policy]]\nmatch = \"c.*\"\naction = \"deny\"\narguments = { path = \"/etc/*\" }\n\
             [agents.kept]\nlimits = { calls = 6 }\n\
             [sources.shop]\nopenapi = \"https://h/api.json\"\nauth = { key = \"${keyring:SHOP}\" }\n",
            "",
        );
        let found = ConfigChanges::between(&old, &new);
        assert!(found.sources.contains("shop") && found.added == ["shop"]);
        let section = |name: &str| {
            let mut sections = found.sections.iter();
            sections.find(|it| it.section == name).unwrap().clone()
        };
        let policy = section("policy");
        assert_eq!(policy.added.len(), 1, "{policy:?}");
        assert!(policy.added[0].starts_with("deny c.* "), "{policy:?}");
        assert_eq!(policy.removed, ["deny a.*"]);
        assert_eq!(section("limits").changed, ["wall", "heap"]);
        assert_eq!(section("audit").changed, ["keep"]);
        assert_eq!(section("agents").removed, ["gone"]);
        assert_eq!(section("agents").changed, ["kept.limits.calls"]);
        assert_eq!(section("secrets").added, ["SHOP"]);
        assert_eq!(found.sections.len(), 5, "{found:#?}");
        assert!(ConfigChanges::between(&new, &new).is_empty());
    }

    #[test]
    fn moved_rules_are_a_change_of_their_order() {
        let rules =
            ["a.*", "b.*"].map(|path| format!("[[policy]]\nmatch = {path:?}\naction = \"deny\"\n"));
        let old = loaded(&rules.concat(), "");
        let new = loaded(&[rules[1].as_str(), &rules[0]].concat(), "");
        let found = ConfigChanges::between(&old, &new);
        assert_eq!(found.sections[0].changed, ["order"]);
    }
}
