//! The values of the configuration in which references are expanded, and the variables, commands
//! and secrets that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Config, ServerEntry, SourceEntry, SwitchOrTable};
use crate::environment::{commands_in, secrets_in};

impl Config {
    /// Returns true if any value may need a login shell variable.
    pub fn needs_environment(&self) -> bool {
        let compiler = self.check.tsc.as_deref();
        let mut servers = self.servers.values().flatten();
        compiler.is_some_and(|path| path.contains("${"))
            || servers.any(ServerEntry::needs_environment)
            // Sources and telemetry may use the proxies in the user's environment.
            || !self.sources.is_empty()
            || self.telemetry.endpoint.is_some()
    }

    /// The commands in the values of enabled servers and sources, and of telemetry.
    pub fn commands(&self) -> BTreeSet<String> {
        let entries = self.servers.values().flatten();
        let servers = entries
            .filter(|entry| entry.enabled != Some(false))
            .flat_map(ServerEntry::commands);
        let sources = self.sources.values().flatten();
        let sources = sources
            .filter(|entry| entry.enabled != Some(false))
            .flat_map(SourceEntry::expanded_values)
            .flat_map(commands_in);
        let telemetry = self.telemetry.values().flat_map(commands_in);
        servers.chain(sources).chain(telemetry).collect()
    }

    /// The named secrets, each with the entries that refer to it, including disabled ones.
    pub fn secrets(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all = BTreeMap::<String, BTreeSet<String>>::new();
        let mut add = |section: &str, entry: &str, names: BTreeSet<String>| {
            for name in names {
                all.entry(name)
                    .or_default()
                    .insert(format!("{section}.{entry}"));
            }
        };
        for (name, entry) in &self.servers {
            add(
                "servers",
                name,
                entry
                    .as_ref()
                    .map_or_else(|_| BTreeSet::new(), ServerEntry::secrets),
            );
        }
        for (name, entry) in &self.sources {
            let values = entry.iter().flat_map(SourceEntry::expanded_values);
            add("sources", name, values.flat_map(secrets_in).collect());
        }
        for name in self.telemetry.values().flat_map(secrets_in) {
            all.entry(name).or_default().insert("telemetry".into());
        }
        all
    }
}

impl ServerEntry {
    pub fn needs_environment(&self) -> bool {
        // A URL may be reached through a proxy in the user's environment.
        self.url.is_some()
            || self
                .texts()
                // A path of its sandbox may be in the home.
                .any(|text| text.contains("${") || text.starts_with('~'))
    }

    pub fn commands(&self) -> BTreeSet<String> {
        self.values().flat_map(commands_in).collect()
    }

    pub fn secrets(&self) -> BTreeSet<String> {
        self.values().flat_map(secrets_in).collect()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let fields = [&self.command, &self.cwd, &self.socket].into_iter();
        let sandbox = match &self.sandbox {
            Some(SwitchOrTable::Table(sandbox)) => Some(sandbox),
            Some(SwitchOrTable::Switch(_)) | None => None,
        };
        let paths = sandbox
            .into_iter()
            .flat_map(|sandbox| sandbox.read.iter().chain(&sandbox.write));
        let fields = fields.flatten().map(String::as_str);
        fields.chain(paths.map(String::as_str)).chain(self.values())
    }

    /// The values that may contain `${cmd:…}` and `${keyring:…}`.
    fn values(&self) -> impl Iterator<Item = &str> {
        let client = match &self.oauth {
            Some(SwitchOrTable::Table(own)) => [&own.client_id, &own.client_secret],
            _ => [&None, &None],
        };
        let texts = self.args.iter().chain(self.env.values());
        texts
            .chain(self.headers.values())
            .chain(&self.url)
            .chain(client.into_iter().flatten())
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_enabled_entries() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"${cmd:no}\"\nargs = [\"${cmd:one}\"]\nenv = { T = \"${cmd:two} ${cmd:one}\" }\n\
             [servers.b]\nurl = \"https://${cmd:three}/\"\nheaders = { A = \"${cmd:four}\" }\n\
             oauth = { client_secret = \"${cmd:five}\" }\n\
             [servers.c]\ncommand = \"x\"\nargs = [\"${cmd:six}\"]\nenabled = false\n\
             [sources.d]\nopenapi = \"x\"\nauth = { key = \"${cmd:seven}\" }\n",
            "c",
        )
        .unwrap();
        let found: Vec<String> = config.commands().into_iter().collect();
        assert_eq!(found, ["five", "four", "one", "seven", "three", "two"]);
        assert!(config.needs_environment());
    }

    #[test]
    fn secrets_are_found_with_their_entries() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"x\"\nargs = [\"${keyring:K}\"]\nenv = { T = \"${keyring:K}${keyring:L}\" }\n\
             [servers.b]\nurl = \"https://h/\"\noauth = { client_secret = \"${keyring:M}\" }\nenabled = false\n\
             [sources.c]\nopenapi = \"x\"\nheaders = { A = \"${keyring:K}\" }\n",
            "c",
        )
        .unwrap();
        let found: Vec<String> = config
            .secrets()
            .into_iter()
            .map(|(name, entries)| format!("{name} {}", Vec::from_iter(entries).join(",")))
            .collect();
        assert_eq!(
            found,
            ["K servers.a,sources.c", "L servers.a", "M servers.b"]
        );
    }
}
