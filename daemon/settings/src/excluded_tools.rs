//! `tools.exclude` of an entry.
//!
//! Invariant: a tool is excluded under each of its spellings, or under none.

use mux_text::glob::Glob;
use mux_typegen::names::tool_spellings;

/// The tools that an entry never offers.
#[derive(Clone, Debug)]
pub struct ExcludedTools(Vec<Glob>);

impl ExcludedTools {
    pub fn new(globs: &[String]) -> Self {
        Self(globs.iter().map(|glob| Glob::new(glob)).collect())
    }

    /// Returns true if a glob matches the name in any spelling.
    pub fn contains(&self, name: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let spellings = tool_spellings(name);
        let matches = |glob: &Glob| spellings.iter().any(|name| glob.matches(name));
        self.0.iter().any(matches)
    }
}
