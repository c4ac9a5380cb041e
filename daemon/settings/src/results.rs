//! `[results]`: the processing of server results before a model reads them.

use mux_config::{ResultsEntry, SecretSearch};

/// How the results of a server are treated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ResultSettings {
    /// True if text that a model reads is marked as its server's data.
    pub fence: bool,
    pub secrets: SecretSearch,
}

impl Default for ResultSettings {
    fn default() -> Self {
        Self::of(&ResultsEntry::default())
    }
}

impl ResultSettings {
    /// The defaults of all entries.
    pub(super) fn of(entry: &ResultsEntry) -> Self {
        Self {
            fence: entry.fence.unwrap_or(true),
            secrets: entry.secrets,
        }
    }

    /// The settings of an entry with these keys.
    pub(super) fn of_entry(self, fence: Option<bool>, secrets: Option<SecretSearch>) -> Self {
        Self {
            fence: fence.unwrap_or(self.fence),
            secrets: secrets.unwrap_or(self.secrets),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Settings;
    use mux_config::{Config, environment::Environment};

    fn settings(section: &str) -> Settings {
        let text = format!(
            "{section}[servers.a]\ncommand = \"x\"\n\
             [servers.b]\ncommand = \"x\"\nfence = false\nsecrets = \"off\"\n\
             [sources.c]\nopenapi = \"https://a/b\"\nsecrets = \"mask\"\n\
             [servers.d]\ncommand = \"x\"\nsecrets = \"hide\"\n"
        );
        let config = Config::parse(&text, "c").unwrap();
        Settings::resolve(config, &Environment::default(), Path::new("/home/me"))
    }

    #[test]
    fn entry_overrides_section_and_invalid_word_means_mask() {
        use SecretSearch::{Mask, Off, Warn};
        for (section, fence, secrets, problems) in [
            ("", true, Warn, 0),
            ("[results]\nsecrets = \"mask\"\n", true, Mask, 0),
            (
                "[results]\nfence = false\nsecrets = \"of\"\n",
                false,
                Mask,
                1,
            ),
        ] {
            let settings = settings(section);
            let of = |name: &str| {
                let definition = settings.servers[name].definition.as_ref();
                let results = definition.unwrap().results;
                (results.fence, results.secrets)
            };
            assert_eq!(of("a"), (fence, secrets), "{section}");
            assert_eq!(of("b"), (false, Off), "{section}");
            assert_eq!(of("c"), (fence, Mask), "{section}");
            assert_eq!(settings.problems.len(), problems, "{:?}", settings.problems);
            let wrong = settings.servers["d"].definition.as_ref().unwrap_err();
            let message = "secrets = \"hide\" is none of mask, warn, off";
            assert_eq!(wrong.to_string(), message);
        }
    }
}
