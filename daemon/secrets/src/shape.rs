//! Values that look like secrets, whoever names them.

use crate::{
    formats::{begins_as_token, reads_as_words},
    names::{Suspicion, suspicion},
    scan,
};

/// Letters and digits in one piece, mixed: no word is so long.
const GENERATED_LEN: usize = 16;
/// The same of hexadecimal digits, with dashes or without.
const HEX_LEN: usize = 32;
/// The same of a text in pieces.
const PIECES_LEN: usize = 32;
/// A value of a variable whose name says nothing.
const MIXED_LEN: usize = 12;
/// `Bearer x` is a word and a value.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey"];
/// What is said with one of these is shorter than any secret.
const MIN_CREDENTIAL_LEN: usize = 12;

/// Whether the value of a variable, a header, an option or a query parameter is a secret: by its name, or by itself.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_secret_value(value) || (suspicion(name) > Suspicion::None && may_be_secret(name, value))
}

/// Whether a value that somebody wrote into a configuration is a secret by itself: a published format, a login, a URL
/// with a password, a token in its query or a generated part in its path, or the shape of a generated key.
pub fn is_secret_value(text: &str) -> bool {
    let text = text.trim();
    scan::finds(text)
        || begins_as_token(text)
        || text.starts_with("-----BEGIN")
        || is_credential(text)
        || looks_generated(text)
        || path_of(text).is_some_and(|path| path.split('/').any(looks_generated))
}

/// `Bearer x`, whatever `x` looks like.
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

/// Whether a word is a key that a service made, and no person. It holds for UUIDs and hashes, too: where somebody writes
/// a word of his own (an argument, a part of a path) they are keys more often than not. In prose it is not asked.
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

/// Weaker evidence, for values that are known and only compared with: long, in one piece, letters and digits mixed,
/// and no path.
pub fn may_be_generated(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.len() >= MIXED_LEN
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains(char::is_whitespace)
        && !value.starts_with(['/', '~', '.'])
}

/// Whether what has a secret's name is one: `AUTH_ENABLED=true` and `AUTH_SERVER=https://…` are none.
pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    const SWITCHES: &[&str] = &[
        "", "true", "false", "yes", "no", "on", "off", "none", "null", "auto",
    ];
    let value = value.trim();
    let switch = SWITCHES.iter().any(|word| value.eq_ignore_ascii_case(word));
    let lower = name.to_ascii_lowercase();
    // A number of them.
    let count =
        value.len() <= 6 && value.bytes().all(|b| b.is_ascii_digit()) && lower.ends_with("tokens");
    let place = ["http://", "https://"]
        .iter()
        .any(|scheme| value.starts_with(scheme))
        && suspicion(name) == Suspicion::Likely
        && !["webhook", "dsn"].iter().any(|word| lower.contains(word));
    !(switch || count || place || is_reference(value) || is_path(value))
}

/// Whether a value only says where the secret is, or has been masked.
pub(crate) fn is_reference(value: &str) -> bool {
    value.contains("${") || value.contains("{env:") || matches!(value, "…" | crate::MASK)
}

/// Whether a value is the path of a file. What looks like a key between two slashes is none: a key may be Base64.
pub fn is_path(value: &str) -> bool {
    let is_rooted = ["~/", "./", "../"]
        .iter()
        .any(|root| value.starts_with(root))
        || value
            .strip_prefix('/')
            .is_some_and(|rest| rest.contains('/'))
        || value
            .get(1..3)
            .is_some_and(|root| root == ":\\" || root == ":/");
    is_rooted && !value.contains(['+', '=']) && !value.split(['/', '\\']).any(looks_generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_secrets_by_their_name_or_their_looks() {
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
