//! `[pins]`: what becomes of a tool that is not what it was when it was first trusted.

use mux_config::{ConfigProblem, PinsEntry};

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnChange {
    /// Its calls are refused until somebody has accepted it.
    #[default]
    Refuse,
    /// It is offered as it is now, and said beside its server until somebody has accepted it.
    Warn,
    /// Nobody compares, and nothing is written down.
    Off,
}

impl OnChange {
    pub(super) const ON_CHANGE_WORDS: &[(&str, Self)] = &[
        ("refuse", Self::Refuse),
        ("warn", Self::Warn),
        ("off", Self::Off),
    ];

    pub(super) fn word(self) -> &'static str {
        let known = Self::ON_CHANGE_WORDS
            .iter()
            .find(|(_, meant)| *meant == self);
        known.map_or("", |(word, _)| word)
    }
}

/// A word that means nothing leaves the safe one in force.
pub(super) fn resolve(entry: &PinsEntry, problems: &mut Vec<ConfigProblem>) -> OnChange {
    let Some(word) = entry.on_change.as_deref() else {
        return OnChange::default();
    };
    let known = OnChange::ON_CHANGE_WORDS
        .iter()
        .find(|(known, _)| *known == word);
    match known {
        Some((_, meant)) => *meant,
        None => {
            let message =
                format!("[pins] on_change = {word:?} is ignored: it is none of refuse, warn, off");
            problems.push(ConfigProblem::at(&["pins", "on_change"], message));
            OnChange::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Settings;
    use mux_config::Config;

    #[test]
    fn a_server_may_have_its_own_word_and_a_wrong_one_is_the_safe_one() {
        for (config, expected, problems) in [
            ("", OnChange::Refuse, 0),
            ("[pins]\non_change = \"warn\"\n", OnChange::Warn, 0),
            ("[pins]\non_change = \"never\"\n", OnChange::Refuse, 1),
        ] {
            let text = format!(
                "{config}[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\npins = \"off\"\n"
            );
            let config = Config::parse(&text, "c").unwrap();
            let settings = Settings::resolve(config, &Default::default(), Path::new("/home/me"));
            let pins = |name: &str| settings.servers[name].definition.as_ref().unwrap().pins;
            assert_eq!((pins("a"), pins("b")), (expected, OnChange::Off), "{text}");
            assert_eq!(settings.problems.len(), problems, "{:?}", settings.problems);
        }
    }
}
