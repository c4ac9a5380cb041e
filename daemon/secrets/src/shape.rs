//! Detects values that look like secrets by themselves.

use crate::{
    formats::{begins_as_token, reads_as_words},
    names::{Suspicion, suspicion},
    scan,
};

/// The minimum length of a generated piece of mixed letters and digits.
const GENERATED_LEN: usize = 16;
/// The minimum number of hexadecimal digits, with or without dashes, in a generated value.
const HEX_LEN: usize = 32;
/// The minimum length of a generated value that has separators.
const PIECES_LEN: usize = 32;
/// The minimum length of a mixed value for [`may_be_generated`].
const MIXED_LEN: usize = 12;
/// Authentication schemes: `Bearer x` is a scheme and a value.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey"];
/// The minimum length of a scheme with its value.
const MIN_CREDENTIAL_LEN: usize = 12;

/// Returns true if the value of a variable, header, option or query parameter is a secret, by its name or by itself.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_secret_value(value) || (suspicion(name) > Suspicion::None && may_be_secret(name, value))
}

/// Returns true if a value in a configuration is a secret by itself: a published format, a login, a URL with a
/// password, a token in its query or a generated part in its path, or a value that looks generated.
pub fn is_secret_value(text: &str) -> bool {
    let text = text.trim();
    scan::finds(text)
        || begins_as_token(text)
        || text.starts_with("-----BEGIN")
        || is_credential(text)
        || looks_generated(text)
        || path_of(text).is_some_and(|path| path.split('/').any(looks_generated))
}

/// Returns true if a string is a scheme and a value, such as `Bearer x`, regardless of `x`.
fn is_credential(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(scheme, value)| {
        SCHEMES
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
            && text.len() >= MIN_CREDENTIAL_LEN
            && !value.trim().contains(' ')
            && !is_reference(value)
    })
}

fn path_of(text: &str) -> Option<&str> {
    let rest = text.split_once("://")?.1;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    rest.split_once('/').map(|(_, path)| path)
}

/// Returns true if a word looks like a generated key. UUIDs and hashes also count: as arguments or parts of a path
/// they are usually keys. Not used for prose.
pub(crate) fn looks_generated(word: &str) -> bool {
    if word.contains("${") {
        return false;
    }
    if begins_as_token(word) {
        return true;
    }
    let hex = word.bytes().filter(u8::is_ascii_hexdigit).count();
    if hex >= HEX_LEN && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return true;
    }
    if word.contains(['/', '\\', '@', '{', '(', ' ', ':']) || word.starts_with(['.', '~']) {
        return false;
    }
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let mut pieces = word.split(|c: char| !c.is_ascii_alphanumeric());
    let in_one_piece = |piece: &str| {
        piece.len() >= GENERATED_LEN && digits(piece) >= 3 && digits(piece) < piece.len()
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '=');
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    pieces.any(in_one_piece)
        || word.len() >= PIECES_LEN
            && word.chars().all(plain)
            && digits(word) >= 4
            && letters >= 4
            && !reads_as_words(word)
}

/// A weaker test than a generated shape, for values that are only compared against: long, without blanks, mixed
/// letters and digits, and not a path.
pub fn may_be_generated(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.len() >= MIXED_LEN
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains(char::is_whitespace)
        && !value.starts_with(['/', '~', '.'])
        && !begins_with_drive(value)
}

/// Returns true if a value whose name announces a secret may be one: `AUTH_ENABLED=true` and `AUTH_SERVER=https://…`
/// are not.
pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    let lower = name.to_ascii_lowercase();
    // A count of tokens.
    let count =
        value.len() <= 6 && value.bytes().all(|b| b.is_ascii_digit()) && lower.ends_with("tokens");
    let place = ["http://", "https://"]
        .iter()
        .any(|scheme| value.starts_with(scheme))
        && suspicion(name) == Suspicion::Likely
        && !["webhook", "dsn"].iter().any(|word| lower.contains(word));
    !(is_switch(value) || count || place || is_reference(value) || is_path(value))
}

/// Returns true if a value is a word that sets an option, such as `secrets = "mask"` and `auth = "basic"`.
pub(crate) fn is_switch(value: &str) -> bool {
    const SWITCHES: &[&str] = &[
        "", "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "never", "mask",
        "warn", "basic", "post",
    ];
    let value = value.trim();
    SWITCHES.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Returns true if a value only refers to a secret, or is masked.
pub(crate) fn is_reference(value: &str) -> bool {
    value.contains("${") || value.contains("{env:") || matches!(value, "…" | crate::MASK)
}

/// Returns true if a value is a file path. A path with a part that looks like a key does not count, because a Base64
/// key may contain slashes.
pub fn is_path(value: &str) -> bool {
    let is_rooted = ["~/", "./", "../"]
        .iter()
        .any(|root| value.starts_with(root))
        || value
            .strip_prefix('/')
            .is_some_and(|rest| rest.contains('/'))
        || begins_with_drive(value);
    is_rooted && !value.contains(['+', '=']) && !value.split(['/', '\\']).any(looks_generated)
}

/// Returns true if a value begins like an absolute Windows path.
fn begins_with_drive(value: &str) -> bool {
    matches!(value.get(1..3), Some(":\\" | ":/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_not_taken_for_a_generated_value() {
        for (value, expected) in [
            ("a1b2c3d4e5f6", true),
            ("/home/me2/notes", false),
            ("C:\\Users\\me2\\notes", false),
            ("D:/tools/node20", false),
        ] {
            assert_eq!(may_be_generated(value), expected, "{value}");
        }
    }

    #[test]
    fn values_are_secrets_by_name_or_shape() {
        for (name, value, expected) in [
            ("API_KEY", "abc", true),
            ("API_KEY", "${KEY}", false),
            ("AUTH_ENABLED", "true", false),
            ("AUTH", "https://login", false),
            ("SESSION", "5", true),
            ("AUTH", "https://u:p@login", true),
            ("PASSWORD", "123456", true),
            ("ALL_TOKENS", "4096", false),
            ("ALL_TOKENS", "a,b", true),
            ("KEY", "/home/me/.ssh/id", false),
            ("KEY", "/abc0Def1Ghi2Jkl3Mno4/x+y=", true),
            ("WEBHOOK", "https://h/x", true),
            ("MODE", "production", false),
            ("MODE", "sk-12ab34cd56ef", true),
            ("MODEL", "claude-sonnet-4-20250514-thinking-preview", false),
            ("TZ", "Europe/Berlin", false),
            ("X", "Bearer abcdef", true),
            ("X", "Bearer ${TOKEN_OF_MINE}", false),
            ("X", "Basic authentication is required", false),
            ("X", "postgres://u:p@h/db", true),
            ("X", "postgres://u@h/db", false),
            ("X", "https://h/mcp?apiKey=s3", true),
            ("X", "https://h/mcp?page=3", false),
            ("X", "https://h/s/aZ81kQ0p2Lm4Xn7Wq/mcp", true),
            ("X", "123e4567-e89b-12d3-a456-426614174000", true),
        ] {
            assert_eq!(is_secret(name, value), expected, "{name}={value}");
        }
    }
}
