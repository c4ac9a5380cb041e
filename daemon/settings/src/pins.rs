//! `[pins]`: the reaction to a tool definition that has changed since it was first trusted.

use mux_config::{ConfigProblem, PinsEntry};

use super::server::parse_or_ignore;

#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    PartialEq,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum OnChange {
    /// Calls of the tool are refused until the user accepts the change.
    #[default]
    Refuse,
    /// The changed tool is offered, and the change is reported with its server until the user accepts it.
    Warn,
    /// Definitions are neither recorded nor compared.
    Off,
}

impl OnChange {
    pub(super) fn word(self) -> &'static str {
        self.into()
    }
}

/// An unknown word keeps the safe choice.
pub(super) fn resolve(entry: &PinsEntry, problems: &mut Vec<ConfigProblem>) -> OnChange {
    let word = entry.on_change.as_deref();
    let keys = ["pins", "on_change"];
    parse_or_ignore(word, "[pins] on_change", &keys, problems).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Settings;
    use mux_config::Config;

    #[test]
    fn server_overrides_on_change_and_invalid_value_means_refuse() {
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
