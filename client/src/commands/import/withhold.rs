//! Takes the secrets out of a definition and leaves references in their place.

use super::{definition::Definition, names, references::literal};
use crate::agents::{is_secret_name, is_secret_value};

/// Beside a reference, what is shorter is a word such as `Bearer`.
const LONGEST_WORD: usize = 8;

/// A variable and its value, which is never printed.
#[derive(Clone, Eq, PartialEq)]
pub(in crate::commands) struct Secret {
    pub(in crate::commands) variable: String,
    pub(in crate::commands) value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.variable)
    }
}

/// The definition without secrets, and the secrets, for a server of this name.
pub(in crate::commands) fn withhold(
    definition: &Definition,
    server: &str,
) -> (Definition, Vec<Secret>) {
    let mut withheld = Withheld {
        server,
        secrets: Vec::new(),
    };
    let mut open = definition.clone();
    for (name, value) in &mut open.env {
        withheld.named(name, value);
    }
    for (name, value) in &mut open.headers {
        withheld.named(name, value);
    }
    if let Some(url) = &mut open.url {
        withheld.unnamed("url", url);
    }
    let mut before: Option<String> = None;
    for (index, arg) in open.args.iter_mut().enumerate() {
        let option = before.take();
        before = Some(arg.clone());
        withheld.argument(option.as_deref(), index, arg);
    }
    (open, withheld.secrets)
}

/// The same, with credentials: whatever is given for one is a secret.
pub(in crate::commands) fn withhold_credentials(
    definition: &Definition,
    credentials: &mut [(&str, &mut String)],
    server: &str,
) -> (Definition, Vec<Secret>) {
    let (open, secrets) = withhold(definition, server);
    let mut withheld = Withheld { server, secrets };
    for (name, value) in credentials {
        if let Some(plain) = literal(value) {
            **value = withheld.keep(name, plain);
        } else {
            withheld.mixed(name, value);
        }
    }
    (open, withheld.secrets)
}

struct Withheld<'a> {
    server: &'a str,
    secrets: Vec<Secret>,
}

impl Withheld<'_> {
    fn named(&mut self, name: &str, value: &mut String) {
        // A command finds the secret out, and its text is none.
        if value.contains("${cmd:") {
            return;
        }
        if let Some(plain) = literal(value) {
            if is_secret_value(&plain) || (is_secret_name(name) && may_be_secret(name, &plain)) {
                *value = self.keep(name, plain);
            }
        } else if is_secret_name(name) {
            self.mixed(name, value);
        }
    }

    /// A reference, and perhaps more.
    fn mixed(&mut self, name: &str, value: &mut String) {
        if !value.contains("${cmd:") {
            let parts = parts(value).into_iter().map(|part| match literal(part) {
                Some(plain) if plain.trim().len() >= LONGEST_WORD => self.keep(name, plain),
                _ => part.to_owned(),
            });
            *value = parts.collect();
        }
    }

    fn unnamed(&mut self, name: &str, value: &mut String) {
        if let Some(plain) = literal(value)
            && is_secret_value(&plain)
        {
            *value = self.keep(name, plain);
        }
    }

    /// `--token x`, `--token=x`, `TOKEN=x`, `X-Api-Key: x`, or a secret as it is.
    fn argument(&mut self, before: Option<&str>, index: usize, arg: &mut String) {
        let option = before.filter(|word| word.starts_with('-') && !word.contains(['=', ':']));
        if let Some(option) = option.filter(|option| is_secret_name(option))
            && !arg.starts_with('-')
        {
            return self.named(option, arg);
        }
        let parts = arg.split_once(['=', ':']);
        if let Some((name, value)) = parts
            && !value.starts_with("//")
            && is_secret_name(name)
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            let padding = value.len() - value.trim_start().len();
            let mut secret = value.trim_start().to_owned();
            let split = name.len() + 1 + padding;
            let (name, start) = (name.to_owned(), arg[..split].to_owned());
            self.named(&name, &mut secret);
            *arg = format!("{start}{secret}");
            return;
        }
        self.unnamed(&format!("arg_{}", index + 1), arg);
    }

    /// Remembers a secret and gives the reference to it.
    fn keep(&mut self, key: &str, value: String) -> String {
        let wanted = names::variable(self.server, key);
        let mut variable = wanted.clone();
        let mut number = 1;
        while let Some(other) = self
            .secrets
            .iter()
            .find(|secret| secret.variable == variable)
        {
            if other.value == value {
                return format!("${{{variable}}}");
            }
            number += 1;
            variable = format!("{wanted}_{number}");
        }
        let reference = format!("${{{variable}}}");
        self.secrets.push(Secret { variable, value });
        reference
    }
}

/// References, and what stands between them.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('$') {
        at += found;
        let rest = &text[at + 1..];
        if rest.starts_with('{') {
            let end = rest.find('}').map_or(text.len(), |end| at + end + 2);
            parts.extend([&text[start..at], &text[at..end]]);
            (start, at) = (end, end);
        } else {
            // A dollar sign alone, or one that is escaped.
            at += 1 + usize::from(rest.starts_with('$'));
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether something of a secret's name is one: `AUTH_ENABLED=true` and `AUTH_URL=https://…` are none.
fn may_be_secret(name: &str, value: &str) -> bool {
    const SWITCHES: &[&str] = &[
        "", "true", "false", "yes", "no", "on", "off", "none", "null", "auto",
    ];
    let name = name.to_ascii_lowercase();
    let switch = SWITCHES.contains(&value.to_ascii_lowercase().as_str());
    let count = value.len() <= 6
        && value.chars().all(|c| c.is_ascii_digit())
        && ["max", "limit", "count", "timeout", "tokens"]
            .iter()
            .any(|word| name.contains(word));
    let place = ["http://", "https://"]
        .iter()
        .any(|scheme| value.starts_with(scheme))
        && ["url", "uri", "endpoint", "host", "issuer"]
            .iter()
            .any(|end| name.ends_with(end))
        && !name.contains("webhook");
    // What a program fills in itself.
    let template = value.contains("${");
    !(switch || count || place || template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(args: &[&str]) -> (Vec<String>, Vec<String>) {
        let definition = Definition {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Definition::default()
        };
        let (open, secrets) = withhold(&definition, "s");
        (open.args, secrets.into_iter().map(|s| s.value).collect())
    }

    #[test]
    fn secrets_in_arguments_are_found() {
        for (given, left, secret) in [
            (
                &["--token", "abc"][..],
                &["--token", "${MUX_S_TOKEN}"][..],
                &["abc"][..],
            ),
            (
                &["--api-key=a=b"],
                &["--api-key=${MUX_S_API_KEY}"],
                &["a=b"],
            ),
            (
                &["-e", "API_KEY=x1"],
                &["-e", "API_KEY=${MUX_S_API_KEY}"],
                &["x1"],
            ),
            (
                &["--header", "Authorization: Bearer t0"],
                &["--header", "Authorization: ${MUX_S_AUTHORIZATION}"],
                &["Bearer t0"],
            ),
            (
                &["-y", "pkg", "postgres://u:p@h/db"],
                &["-y", "pkg", "${MUX_S_ARG_3}"],
                &["postgres://u:p@h/db"],
            ),
            (
                &["ghp_0123456789abcdef"],
                &["${MUX_S_ARG_1}"],
                &["ghp_0123456789abcdef"],
            ),
            (&["--token", "--verbose"], &["--token", "--verbose"], &[]),
            (&["--token", "${TOKEN}"], &["--token", "${TOKEN}"], &[]),
            (
                &["--token", "a", "--secret-token", "a", "--token", "b"],
                &[
                    "--token",
                    "${MUX_S_TOKEN}",
                    "--secret-token",
                    "${MUX_S_SECRET_TOKEN}",
                    "--token",
                    "${MUX_S_TOKEN_2}",
                ],
                &["a", "a", "b"],
            ),
            (
                &["https://host/path?x=1", "/home/me/keys"],
                &["https://host/path?x=1", "/home/me/keys"],
                &[],
            ),
            (
                &["@modelcontextprotocol/server-filesystem"],
                &["@modelcontextprotocol/server-filesystem"],
                &[],
            ),
        ] {
            let (args, secrets) = args(given);
            assert_eq!(args, left, "{given:?}");
            assert_eq!(secrets, secret, "{given:?}");
        }
    }

    #[test]
    fn variables_headers_and_addresses_are_looked_at_too() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let definition = Definition {
            url: Some("https://h/mcp?apiKey=s3".into()),
            env: pairs(&[
                ("GITHUB_TOKEN", "t$$1"),
                ("OTHER_TOKEN", "${OTHER}"),
                ("MIXED_TOKEN", "${A}-pa$${ss}word-${B}"),
                ("AUTH_ENABLED", "true"),
                ("AUTH_URL", "https://login"),
                ("MAX_TOKENS", "4096"),
                ("DATABASE_URL", "mysql://u:p@h/d"),
                ("LOG_LEVEL", "debug"),
                ("KEYBOARD", "de"),
                ("SSH_KEY_PATH", "/home/me/.ssh/id"),
            ]),
            headers: pairs(&[("Authorization", "Bearer x"), ("Accept", "text/plain")]),
            ..Definition::default()
        };
        let (open, secrets) = withhold(&definition, "my-srv");
        let told: Vec<(&str, &str)> = secrets
            .iter()
            .map(|secret| (secret.variable.as_str(), secret.value.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("MUX_MY_SRV_DATABASE_URL", "mysql://u:p@h/d"),
                ("MUX_MY_SRV_GITHUB_TOKEN", "t$1"),
                ("MUX_MY_SRV_MIXED_TOKEN", "-pa${ss}word-"),
                ("MUX_MY_SRV_AUTHORIZATION", "Bearer x"),
                ("MUX_MY_SRV_URL", "https://h/mcp?apiKey=s3"),
            ]
        );
        assert_eq!(open.env["GITHUB_TOKEN"], "${MUX_MY_SRV_GITHUB_TOKEN}");
        assert_eq!(open.env["OTHER_TOKEN"], "${OTHER}");
        assert_eq!(open.env["MIXED_TOKEN"], "${A}${MUX_MY_SRV_MIXED_TOKEN}${B}");
        assert_eq!(open.env["LOG_LEVEL"], "debug");
        assert!(!format!("{secrets:?}").contains("Bearer"));
    }
}
