//! Names as lenient servers compare them.
//!
//! Invariant: two names that differ in case and separators only are equal here.

/// Removes case and separators, in which servers may be lenient.
pub fn fold(name: &str) -> String {
    let chars = name.chars().filter(|c| c.is_alphanumeric());
    chars.flat_map(char::to_lowercase).collect()
}
