//! Credentials struck out of a recording.
//!
//! Known ones go wherever they stand. Values of members whose names say that they are secrets go as well,
//! whoever gave them.
//! Invariant: the same value is struck in the same way everywhere in one recording.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::settings::{Confidential, is_telling};

/// A shorter one stands in many a word.
const SHORTEST: usize = 6;

/// What must not stand in it.
#[derive(Debug, Default)]
pub struct Mask(Confidential);

impl Mask {
    /// What the daemon knows, and what members of these texts say by their names.
    pub fn of(known: Vec<String>, texts: &[&str]) -> Self {
        let mut found: BTreeSet<String> = known.into_iter().collect();
        for text in texts {
            if let Ok(value) = serde_json::from_str(text) {
                collect(&value, false, &mut found);
            }
        }
        // In JSON text a line end or a quote is written otherwise.
        let escaped: Vec<String> = found
            .iter()
            .filter_map(|secret| serde_json::to_string(secret).ok())
            .map(|quoted| quoted[1..quoted.len() - 1].to_owned())
            .collect();
        found.extend(escaped);
        Self(Confidential::of(found.into_iter().collect()))
    }

    pub fn hidden_from(&self, text: &str) -> String {
        self.0.hidden_from(text)
    }
}

fn collect(value: &Value, told: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if told && text.len() >= SHORTEST => {
            found.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, told, found)),
        Value::Object(members) => {
            for (name, value) in members {
                collect(value, is_secret(name, value), found);
            }
        }
        _ => {}
    }
}

/// `key` and `session` are in many an honest name: there the value must look like a secret, too.
fn is_secret(name: &str, value: &Value) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = [
        "password",
        "passwd",
        "secret",
        "token",
        "credential",
        "authorization",
        "cookie",
    ];
    plain.iter().any(|word| name.contains(word)) && !name.ends_with("_count")
        || is_telling(&name) && value.as_str().is_some_and(crate::settings::looks_made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_those_of_telling_members_are_struck_everywhere() {
        let texts = [
            r#"{"user":"ada","password":"hunter22","nested":[{"api_key":"k9-abcdef123456"}]}"#,
            r#"{"key":"name","tokens":7,"secret":"abc"}"#,
        ];
        let mask = Mask::of(vec!["from-the-\"env\"".into()], &texts);
        let struck = mask.hidden_from(
            r#"ada hunter22 k9-abcdef123456 name abc from-the-"env" {"x":"from-the-\"env\""}"#,
        );
        assert_eq!(struck, r#"ada *** *** name abc *** {"x":"***"}"#);
    }
}
