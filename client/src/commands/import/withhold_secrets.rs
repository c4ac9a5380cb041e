//! Replaces the secrets of a definition by references.

use mux_secrets::{
    Secret, Suspicion,
    arguments::{announces_secret, named_value, secrets},
    is_secret, is_secret_value, suspicion,
};

use super::{
    server_definition::ServerDefinition, server_names, variable_references::unescape_literal,
};

/// Beside a reference, a shorter string is a word such as `Bearer`, not a secret.
const MIN_MIXED_SECRET_BYTES: usize = 8;

/// A secret that goes into the `env` file, and its variable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::commands) struct WithheldSecret {
    pub(in crate::commands) variable: String,
    pub(in crate::commands) value: Secret,
}

/// The definition without secrets, and the secrets, for a server of this name.
pub(in crate::commands) fn withhold_secrets(
    definition: &ServerDefinition,
    server: &str,
) -> (ServerDefinition, Vec<WithheldSecret>) {
    let mut withheld = SecretCollector {
        server,
        secrets: Vec::new(),
    };
    let mut open = definition.clone();
    for (name, value) in &mut open.env {
        withheld.withhold_named(name, value);
    }
    for (name, value) in &mut open.headers {
        withheld.withhold_named(name, value);
    }
    if let Some(url) = &mut open.url {
        withheld.withhold_unnamed("url", url);
    }
    let mut before: Option<String> = None;
    for (index, arg) in open.args.iter_mut().enumerate() {
        let option = before.take();
        before = Some(arg.clone());
        withheld.withhold_argument(option.as_deref(), index, arg);
    }
    (open, withheld.secrets)
}

/// Withholds the secrets of a definition, and all literal values of `credentials`.
pub(in crate::commands) fn withhold_credentials(
    definition: &ServerDefinition,
    credentials: &mut [(&str, &mut String)],
    server: &str,
) -> (ServerDefinition, Vec<WithheldSecret>) {
    let (open, secrets) = withhold_secrets(definition, server);
    let mut withheld = SecretCollector { server, secrets };
    for (name, value) in credentials {
        if let Some(plain) = unescape_literal(value) {
            **value = withheld.add_secret(name, plain);
        } else {
            withheld.withhold_literal_parts(name, value);
        }
    }
    (open, withheld.secrets)
}

struct SecretCollector<'a> {
    server: &'a str,
    secrets: Vec<WithheldSecret>,
}

impl SecretCollector<'_> {
    fn withhold_named(&mut self, name: &str, value: &mut String) {
        // The secret is the output of the command, not the command.
        if value.contains("${cmd:") {
            return;
        }
        if let Some(plain) = unescape_literal(value) {
            if is_secret(name, &plain) {
                *value = self.add_secret(name, plain);
            }
        } else if suspicion(name) > Suspicion::None {
            self.withhold_literal_parts(name, value);
        }
    }

    /// Withholds the literal parts of a value that has references.
    fn withhold_literal_parts(&mut self, name: &str, value: &mut String) {
        if !value.contains("${cmd:") {
            let parts =
                split_references(value)
                    .into_iter()
                    .map(|part| match unescape_literal(part) {
                        Some(plain) if plain.trim().len() >= MIN_MIXED_SECRET_BYTES => {
                            self.add_secret(name, plain)
                        }
                        _ => part.to_owned(),
                    });
            *value = parts.collect();
        }
    }

    fn withhold_unnamed(&mut self, name: &str, value: &mut String) {
        if let Some(plain) = unescape_literal(value)
            && is_secret_value(&plain)
        {
            *value = self.add_secret(name, plain);
        }
    }

    /// Withholds `x` in `--token x`, `--token=x`, `TOKEN=x` and `X-Api-Key: x`, or an argument that is itself a secret.
    fn withhold_argument(&mut self, before: Option<&str>, index: usize, arg: &mut String) {
        if let Some(option) = before.filter(|word| announces_secret(word))
            && !arg.starts_with('-')
        {
            return self.withhold_named(option, arg);
        }
        if let Some((name, at)) = named_value(arg)
            && suspicion(name) > Suspicion::None
        {
            let name = name.to_owned();
            let mut secret = arg[at..].to_owned();
            self.withhold_named(&name, &mut secret);
            arg.truncate(at);
            arg.push_str(&secret);
            return;
        }
        // The same rule masks arguments in `mux status`.
        let words: Vec<String> = before
            .into_iter()
            .map(str::to_owned)
            .chain([arg.clone()])
            .collect();
        if let Some(plain) = unescape_literal(arg)
            && secrets(&words)
                .into_iter()
                .any(|secret| plain.contains(secret))
        {
            *arg = self.add_secret(&format!("arg_{}", index + 1), plain);
        }
    }

    /// Adds a secret and returns the reference to it.
    fn add_secret(&mut self, key: &str, value: String) -> String {
        let wanted = server_names::secret_variable(self.server, key);
        let mut variable = wanted.clone();
        let mut number = 1;
        while let Some(other) = self
            .secrets
            .iter()
            .find(|secret| secret.variable == variable)
        {
            if other.value.expose() == value {
                return format!("${{{variable}}}");
            }
            number += 1;
            variable = format!("{wanted}_{number}");
        }
        let reference = format!("${{{variable}}}");
        self.secrets.push(WithheldSecret {
            variable,
            value: value.into(),
        });
        reference
    }
}

/// Splits a string into references and the parts between them.
fn split_references(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('$') {
        at += found;
        let rest = &text[at + 1..];
        if rest.starts_with('{') {
            let end = rest.find('}').map_or(text.len(), |end| at + end + 2);
            parts.extend([&text[start..at], &text[at..end]]);
            (start, at) = (end, end);
        } else {
            // A dollar sign alone, or an escaped one.
            at += 1 + usize::from(rest.starts_with('$'));
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(args: &[&str]) -> (Vec<String>, Vec<String>) {
        let definition = ServerDefinition {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..ServerDefinition::default()
        };
        let (open, secrets) = withhold_secrets(&definition, "s");
        (
            open.args,
            secrets
                .into_iter()
                .map(|s| s.value.expose().to_owned())
                .collect(),
        )
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
    fn secrets_in_variables_headers_and_urls_are_found() {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let definition = ServerDefinition {
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
            ..ServerDefinition::default()
        };
        let (open, secrets) = withhold_secrets(&definition, "my-srv");
        let withheld: Vec<(&str, &str)> = secrets
            .iter()
            .map(|secret| (secret.variable.as_str(), secret.value.expose()))
            .collect();
        assert_eq!(
            withheld,
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
