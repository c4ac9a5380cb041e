//! `sandbox.network` of a server: the hosts that it may reach.

use std::{
    borrow::Cow,
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    parse_errors::{HAS, wrong_value},
    word_or_list::WordOrList,
};

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum SandboxNetwork {
    #[default]
    None,
    Any,
    Hosts(Vec<HostPattern>),
}

/// `host`, `host:port`, or `*.domain` with or without a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostPattern {
    /// In lower case, without brackets and the trailing dot.
    host: String,
    /// The pattern is for every host below `host`.
    below: bool,
    port: Option<u16>,
}

impl<'de> Deserialize<'de> for SandboxNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "must be none, any, or a list of hosts such as [\"api.example.com:443\"]";
        let written = WordOrList::deserialize(deserializer);
        match written.map_err(|_| D::Error::custom(expected))? {
            WordOrList::Word(word) => match word.as_str() {
                "none" => Ok(Self::None),
                "any" => Ok(Self::Any),
                _ => Err(wrong_value(format!("{word:?}"), expected)),
            },
            WordOrList::List(hosts) if hosts.is_empty() => Ok(Self::None),
            WordOrList::List(hosts) => {
                let hosts = hosts.iter().map(|host| host.parse());
                let hosts: Result<_, String> = hosts.collect();
                hosts.map(Self::Hosts).map_err(D::Error::custom)
            }
        }
    }
}

impl JsonSchema for SandboxNetwork {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SandboxNetwork".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": ["none", "any"] },
                { "type": "array", "items": { "type": "string" } }
            ],
            "x-type": "`\"none\"`, `\"any\"`, list of hosts",
            "default": "none"
        })
    }
}

impl SandboxNetwork {
    /// The listed hosts that must be resolved: no patterns and no addresses.
    pub fn host_names(&self) -> impl Iterator<Item = &str> {
        let hosts = match self {
            Self::Hosts(hosts) => hosts.as_slice(),
            Self::None | Self::Any => &[],
        };
        let names = hosts.iter().filter(|pattern| !pattern.below);
        names
            .map(|pattern| pattern.host.as_str())
            .filter(|host| host.parse::<IpAddr>().is_err())
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(format!("{HAS} {text:?}, {why}"));
        if text.contains("://") || text.contains('/') {
            return refused("which is a URL: write its host, as in \"api.example.com:443\"");
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, "")) => (host, None),
                Some((host, port)) if port.starts_with(':') => (host, Some(&port[1..])),
                Some(_) => return refused("which has something else than a port after the `]`"),
                None => return refused("which lacks a `]`"),
            },
            // An IPv6 address without brackets has no port.
            None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
            None => text
                .split_once(':')
                .map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return refused("whose port is not a number from 1 to 65535"),
        };
        let (host, below) = match host.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (host, false),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host == "*" {
            return refused("which is every host: write network = \"any\"");
        }
        let is_name = host.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        });
        if !(is_name || !below && host.parse::<IpAddr>().is_ok()) {
            return refused(
                "which is not a host: write a name such as \"api.example.com\" or \"*.example.com\"",
            );
        }
        Ok(Self { host, below, port })
    }
}

impl HostPattern {
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim_end_matches('.')
            .to_ascii_lowercase();
        let is_host = if self.below {
            host.strip_suffix(&self.host)
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
        } else {
            host == self.host
        };
        is_host && self.port.is_none_or(|own| own == port)
    }

    /// Returns true if the pattern is an address, or the name of this machine: its user also means the machine itself.
    pub fn is_address_or_local(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok() || self.host == "localhost"
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.below { "*." } else { "" };
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{below}{}:{port}", self.host),
            (_, None) => write!(f, "{below}{}", self.host),
        }
    }
}

impl fmt::Display for SandboxNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Any => f.write_str("any"),
            Self::Hosts(hosts) => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                f.write_str(&hosts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_patterns_match_hosts_in_every_spelling() {
        for (pattern, host, port, expected) in [
            ("api.example.com:443", "api.example.com", 443, true),
            ("api.example.com:443", "API.example.com.", 443, true),
            ("api.example.com:443", "api.example.com", 80, false),
            ("api.example.com", "api.example.com", 80, true),
            ("api.example.com", "evil-api.example.com", 443, false),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", "badexample.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("[::1]:80", "[::1]", 80, true),
            ("::1", "::1", 9, true),
            ("127.0.0.1", "127.0.0.1", 9, true),
        ] {
            let pattern: HostPattern = pattern.parse().unwrap();
            assert_eq!(pattern.matches(host, port), expected, "{pattern} {host}");
        }
    }
}
