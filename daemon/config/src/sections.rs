//! Sections whose keys have defaults.
//!
//! Invariant: a value that its key does not allow costs only that value, which is reported with what applies instead. An
//! unknown key and a value of another TOML type are errors of the whole section.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{ConfigProblem, parse_errors};

pub(super) fn read_section<T: DeserializeOwned>(
    value: Value,
    section: &str,
    problems: &mut Vec<ConfigProblem>,
) -> Result<T, String> {
    deserialize_section(checked_section::<T>(value, section, problems), section)
}

pub(super) fn deserialize_section<T: DeserializeOwned>(
    value: Value,
    what: &str,
) -> Result<T, String> {
    let section = value.try_into();
    section.map_err(|error| format!("{what}: {}", parse_errors::shape(&error)))
}

/// The section without the values that its keys do not allow.
pub(super) fn checked_section<T: DeserializeOwned>(
    mut value: Value,
    section: &str,
    problems: &mut Vec<ConfigProblem>,
) -> Value {
    if let Value::Table(table) = &mut value {
        replace_wrong_values::<T>(table, &[section], problems);
    }
    value
}

/// Replaces the values that keys of `T` do not allow, and reports each. `above` are the keys that lead to the table.
pub(super) fn replace_wrong_values<T: DeserializeOwned>(
    table: &mut Table,
    above: &[&str],
    problems: &mut Vec<ConfigProblem>,
) {
    let what = match above {
        ["agents", name] => format!("[agents.{name}] "),
        ["agents", name, key] => format!("[agents.{name}] {key}."),
        _ => format!("{}.", above.join(".")),
    };
    for (key, wrong) in remove_wrong_values::<T>(table) {
        let keys: Vec<&str> = above.iter().copied().chain([key.as_str()]).collect();
        if let Some(stricter) = stricter_value(&keys) {
            table.insert(key.clone(), stricter.into());
        }
        let message = format!("{what}{wrong}; {}", consequence(&keys));
        problems.push(ConfigProblem::at(&keys, message));
    }
}

/// The value that replaces a wrong one, unless it is the default. The user of such a key most likely meant to be
/// protected.
fn stricter_value(keys: &[&str]) -> Option<&'static str> {
    match keys {
        ["sandbox", "mode"] => Some("enforce"),
        ["results", "secrets"] => Some("mask"),
        ["daemon", "keyring"] => Some("never"),
        _ => None,
    }
}

fn consequence(keys: &[&str]) -> &'static str {
    match keys {
        ["sandbox", "mode"] => "enforce applies until it is",
        ["results", "secrets"] => "until it is, secrets are masked",
        ["daemon", "keyring"] => "until it is, the keyring is not used",
        ["metrics", "listen"] => "it stays off",
        ["agents", _, "limits", _] => "the value in [limits] is used",
        ["agents", ..] => "it is ignored",
        _ => "the default is used",
    }
}

/// Removes the values that keys of `T` do not allow. Returns the keys and messages.
pub(super) fn remove_wrong_values<T: DeserializeOwned>(table: &mut Table) -> Vec<(String, String)> {
    let mut removed = Vec::new();
    for (key, value) in std::mem::take(table) {
        let alone = Table::from_iter([(key.clone(), value.clone())]);
        let error = T::deserialize(alone).err();
        match error.and_then(|error| parse_errors::of_value(&error)) {
            Some(wrong) => removed.push((key, wrong)),
            None => drop(table.insert(key, value)),
        }
    }
    removed
}
