//! A value of the configuration that cannot be used.

use std::fmt;

/// The value is ignored, or its default applies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigProblem {
    /// The keys that lead to the value, such as `["limits", "wall"]`. Rules of a list have their number, from 1.
    /// Empty for a whole file.
    pub keys: Vec<String>,
    /// Names the value, the error, and the value that applies instead.
    pub message: String,
}

impl ConfigProblem {
    pub fn at(keys: &[&str], message: impl Into<String>) -> Self {
        Self {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            message: message.into(),
        }
    }

    pub fn of_file(message: impl Into<String>) -> Self {
        Self::at(&[], message)
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
