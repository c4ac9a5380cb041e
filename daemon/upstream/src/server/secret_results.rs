//! Results of a server that seemed to contain a secret, for its status.
//!
//! Invariant: nothing of a secret is kept.

use parking_lot::Mutex;

use mux_settings::{SecretSearch, ServerDefinition};

/// The maximum number of paths that are remembered.
const MAX_SECRET_PATHS: usize = 32;
/// The maximum number of paths that a warning names.
const MAX_NAMED_PATHS: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct SecretResults(Mutex<FoundSecrets>);

#[derive(Debug, Default)]
struct FoundSecrets {
    results: u64,
    /// The paths of the calls, the first ones first.
    paths: Vec<String>,
}

impl SecretResults {
    /// Counts a result. Returns true for the first result of this path.
    pub(super) fn record(&self, path: &str) -> bool {
        let mut found = self.0.lock();
        found.results += 1;
        if found.paths.len() == MAX_SECRET_PATHS || found.paths.iter().any(|known| known == path) {
            return false;
        }
        found.paths.push(path.to_owned());
        true
    }

    /// The warning for the user, if there was such a result.
    pub(super) fn warning(&self, definition: &ServerDefinition) -> Option<String> {
        let found = self.0.lock();
        let results = match found.results {
            0 => return None,
            1 => "1 result".to_owned(),
            many => format!("{many} results"),
        };
        let named = found.paths.iter().take(MAX_NAMED_PATHS).cloned();
        let named: Vec<String> = named.collect();
        let more = match found.paths.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let then = match definition.results.secrets {
            SecretSearch::Mask => "it was masked for their readers",
            SecretSearch::Warn | SecretSearch::Off => {
                "secrets = \"mask\" in its entry masks it for their readers"
            }
        };
        let named = named.join(", ");
        Some(format!(
            "{results} seemed to contain a secret, of {named}{more}; {then}"
        ))
    }
}
