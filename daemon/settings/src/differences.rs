//! Compares two configurations. No I/O.
//!
//! Invariant: only keys are named, never values, which may be secrets.

use std::collections::BTreeMap;

use super::{
    ProcessServer, RemoteServer, ServerDefinition, ServerEndpoint, ServerSettings, SourceDefinition,
};

/// The changes of servers from one configuration to another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ConfigChanges {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// Changed servers, each with the keys that differ.
    pub changed: BTreeMap<String, Vec<String>>,
    pub unchanged: Vec<String>,
}

impl ConfigChanges {
    pub fn between(
        old: &BTreeMap<String, ServerSettings>,
        new: &BTreeMap<String, ServerSettings>,
    ) -> Self {
        let mut found = Self {
            removed: servers_missing_in(old, new),
            added: servers_missing_in(new, old),
            ..Self::default()
        };
        for (name, new) in new {
            match old.get(name) {
                Some(old) if old == new => found.unchanged.push(name.clone()),
                Some(old) => drop(found.changed.insert(name.clone(), changed_keys(old, new))),
                None => {}
            }
        }
        found
    }
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
    let mut keys = match (&old.link, &new.link) {
        (ServerEndpoint::Process(old), ServerEndpoint::Process(new)) => process_changes(old, new),
        (ServerEndpoint::Remote(old), ServerEndpoint::Remote(new)) => remote_changes(old, new),
        (ServerEndpoint::Source(old), ServerEndpoint::Source(new)) => source_changes(old, new),
        _ => vec!["command".into(), "url".into()],
    };
    let same = [
        ("tools", old.exclude == new.exclude),
        ("share", old.share == new.share),
        ("roots", old.roots == new.roots),
        ("start", old.eager == new.eager),
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
        ("scopes", old.scopes == new.scopes),
        ("rate", old.rate == new.rate),
        ("refresh", old.refresh == new.refresh),
        ("depth", old.depth == new.depth),
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

    fn servers(text: &str, secret: &str) -> BTreeMap<String, ServerSettings> {
        let config = Config::parse(text, "c").unwrap();
        let environment = Environment::of([("SECRET".into(), secret.into())]);
        Settings::resolve(config, &environment, Path::new("/home/me")).servers
    }

    #[test]
    fn differences_name_keys_and_never_values() {
        let old = servers(
            "[servers.a]\ncommand = \"x\"\nenv = { T = \"${SECRET}\", U = \"1\", V = \"2\" }\n\
             [servers.b]\ncommand = \"y\"\n[servers.c]\ncommand = \"z\"\n\
             [servers.d]\nurl = \"https://h/\"\n[servers.e]\ncommand = \"e\"\n",
            "one",
        );
        let new = servers(
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
}
