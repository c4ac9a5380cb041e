//! Names of accounts: words and mail addresses.

use serde::{Deserialize, Deserializer};

use super::parse_errors::wrong_value;

pub const MAX_ACCOUNT_CHARS: usize = 64;
/// The characters that a name may contain besides letters and digits. In a character class, a `-` is literal
/// only at the end.
const ACCOUNT_MARKS: &str = "._@+-";

/// Returns true for an account name: a letter or digit, followed by letters, digits and marks.
pub fn is_account_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ACCOUNT_MARKS.contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_plain)
        && text.len() <= MAX_ACCOUNT_CHARS
}

/// The same rule as a regular expression, for the schema.
pub(super) fn account_pattern() -> String {
    let more = MAX_ACCOUNT_CHARS - 1;
    format!("^[A-Za-z0-9][A-Za-z0-9{ACCOUNT_MARKS}]{{0,{more}}}$")
}

pub(super) fn account_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_account_name(&text) {
        return Ok(Some(text));
    }
    let more = MAX_ACCOUNT_CHARS - 1;
    let why = format!(
        "is not a name: it is a letter or digit, and then at most {more} more of letters, digits and . _ @ + -"
    );
    Err(wrong_value(format!("{text:?}"), why))
}
