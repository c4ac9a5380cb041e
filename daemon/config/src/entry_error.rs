//! Why an entry of the configuration cannot be used.

/// An error in an entry. References to missing values have separate variants, because the entry itself is
/// correct.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EntryError {
    #[error("the variable {0} is not set; set it in the `env` file next to config.toml")]
    UnsetVariable(String),
    #[error("the secret {0} is not set; set it with `mux secrets set {0}`")]
    UnsetSecret(String),
    /// The secret is set, but its store did not return it.
    #[error("{problem}")]
    UnreadableSecret { name: String, problem: String },
    #[error("{0}")]
    Invalid(String),
}

impl EntryError {
    /// Names the key of an invalid value.
    #[must_use]
    pub fn in_key(self, key: &str) -> Self {
        match self {
            Self::Invalid(problem) => Self::Invalid(format!("{key}: {problem}")),
            missing => missing,
        }
    }
}

impl From<String> for EntryError {
    fn from(problem: String) -> Self {
        Self::Invalid(problem)
    }
}

impl From<&str> for EntryError {
    fn from(problem: &str) -> Self {
        Self::Invalid(problem.to_owned())
    }
}
