//! What must not stand in an error, though a server may say it.
//!
//! Invariant: it is compared with, and shown nowhere.

use std::{collections::BTreeMap, fmt};

use crate::environment::Environment;

/// A shorter value is no secret, and stands in many a word.
const SHORTEST: usize = 6;
/// A value that is written out, under a name that says nothing, looks like a secret from this length on.
const LOOKS_MADE: usize = 12;
/// Names whose values are secrets, however they look.
const TELLING: &[&str] = &[
    "token", "key", "secret", "pass", "pwd", "auth", "cred", "cookie", "session", "private", "dsn",
];

/// The secrets among the values that a server is given, the longest first.
#[derive(Clone, Default, PartialEq)]
pub struct Confidential(Vec<String>);

impl Confidential {
    /// Of a process: what its variables and arguments refer to, and values of variables that look like secrets.
    pub(super) fn of_process(
        variables: &BTreeMap<String, String>,
        args: &[String],
        environment: &Environment,
    ) -> Self {
        let mut found: Vec<String> = Vec::new();
        for written in args.iter().chain(variables.values()) {
            let hidden = environment.hidden_in(written).into_iter();
            found.extend(hidden.map(str::to_owned));
        }
        for (name, written) in variables {
            let value = environment.expand(written).unwrap_or_default();
            if is_telling(name) || looks_made(&value) {
                found.push(value);
            }
        }
        Self::of(found)
    }

    /// Those that are long enough to be one.
    pub fn of(mut found: Vec<String>) -> Self {
        // A key of many lines is said line by line.
        let lines = |value: &String| -> Vec<String> { value.lines().map(str::to_owned).collect() };
        let lines: Vec<String> = found.iter().flat_map(lines).collect();
        found.extend(lines);
        found.retain(|value| value.len() >= SHORTEST);
        found.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        found.dedup();
        Self(found)
    }

    /// The text with `***` in their place.
    pub fn hidden_from(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

impl fmt::Debug for Confidential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confidential").finish_non_exhaustive()
    }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|word| name.contains(word))
}

/// Long, in one piece, of letters and digits mixed, and no path.
pub(super) fn looks_made(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    value.len() >= LOOKS_MADE
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !has(|c| c.is_whitespace())
        && !value.starts_with(['/', '~', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(variables: &[(&str, &str)], args: &[&str], text: &str) -> String {
        let pairs = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let all = all.iter();
            all.map(|(n, v)| ((*n).into(), (*v).into())).collect()
        };
        let known = [
            ("HOME", "/home/me"),
            ("SHORT", "abc"),
            ("TOKEN", "t0ken-of-mine"),
            ("PEM", "-- begin --\nMIIBOgIBAAJB\n-- end --"),
        ];
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let environment = Environment::of(pairs(&known));
        Confidential::of_process(&pairs(variables), &args, &environment).hidden_from(text)
    }

    #[test]
    fn values_that_are_referred_to_are_hidden_and_common_ones_are_not() {
        let variables = [
            ("A", "${TOKEN}"),
            ("DIR", "${HOME}/x"),
            ("B", "${SHORT}"),
            ("C", "${PEM}"),
        ];
        let said = "no t0ken-of-mine in /home/me/x, abc; MIIBOgIBAAJB";
        assert_eq!(
            hidden(&variables, &[], said),
            "no *** in /home/me/x, abc; ***"
        );
        let said = "unknown option --key=t0ken-of-mine";
        let shown = "unknown option --key=***";
        assert_eq!(hidden(&[], &["--key=${TOKEN}"], said), shown);
    }

    #[test]
    fn written_values_are_hidden_by_their_names_or_their_looks() {
        for (name, value, is_hidden) in [
            ("API_KEY", "letters", true),
            ("API_KEY", "abc", false),
            ("MODE", "sk-12ab34cd56ef", true),
            ("MODE", "production", false),
            ("FOLDER", "/data/files2026/x", false),
        ] {
            let said = format!("it was {value}.");
            let shown = hidden(&[(name, value)], &[], &said);
            assert_eq!(shown == "it was ***.", is_hidden, "{name} {value}: {shown}");
        }
    }
}
