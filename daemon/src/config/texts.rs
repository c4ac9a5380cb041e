//! Which texts of the configuration are expanded, and what they name.

use std::collections::BTreeSet;

use super::{Config, OauthEntry, ServerEntry};
use crate::environment::commands_in;

impl Config {
    /// Whether any value refers to a variable, which only the login shell may know.
    pub fn needs_environment(&self) -> bool {
        let compiler = self.check.tsc.as_deref();
        let mut servers = self.servers.values().flatten();
        compiler.is_some_and(|path| path.contains("${"))
            || servers.any(ServerEntry::needs_environment)
    }

    /// The commands whose answers the entries need. A server that is switched off needs none.
    pub fn commands(&self) -> BTreeSet<String> {
        let entries = self.servers.values().flatten();
        entries
            .filter(|entry| entry.enabled != Some(false))
            .flat_map(ServerEntry::commands)
            .collect()
    }
}

impl ServerEntry {
    pub fn needs_environment(&self) -> bool {
        // What is behind a URL may be reached through a proxy.
        self.url.is_some() || self.texts().any(|text| text.contains("${"))
    }

    pub fn commands(&self) -> BTreeSet<String> {
        self.values().flat_map(commands_in).collect()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let places = [&self.command, &self.cwd, &self.socket].into_iter();
        places.flatten().map(String::as_str).chain(self.values())
    }

    /// Those that a command may tell.
    fn values(&self) -> impl Iterator<Item = &str> {
        let client = match &self.oauth {
            Some(OauthEntry::Own(own)) => [&own.client_id, &own.client_secret],
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
    fn commands_are_found_where_they_may_stand() {
        let config = Config::parse(
            "[servers.a]\ncommand = \"${cmd:no}\"\nargs = [\"${cmd:one}\"]\nenv = { T = \"${cmd:two} ${cmd:one}\" }\n\
             [servers.b]\nurl = \"https://${cmd:three}/\"\nheaders = { A = \"${cmd:four}\" }\n\
             oauth = { client_secret = \"${cmd:five}\" }\n\
             [servers.c]\ncommand = \"x\"\nargs = [\"${cmd:six}\"]\nenabled = false\n",
            "c",
        )
        .unwrap();
        let found: Vec<String> = config.commands().into_iter().collect();
        assert_eq!(found, ["five", "four", "one", "three", "two"]);
        assert!(config.needs_environment());
    }
}
