//! What looks like a secret: by the name of what holds it, or by itself.
//!
//! Invariant: in doubt it is one. The cost is a line in another file; the cost of the other mistake is
//! a token where it does not belong.

/// Parts of names, in lower case.
const NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "api_key",
    "api-key",
    "auth",
    "credential",
    "cookie",
    "bearer",
    "private",
    "session",
    "signature",
    "dsn",
    "webhook",
    "_pat",
];
/// Whole words of names, which would be too much as parts: `KEYBOARD`, `PATH`.
const WORDS: &[&str] = &["key", "pat", "pw", "pwd", "pass", "sid", "jwt"];
/// How issued tokens begin.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_live",
    "rk_live",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "npm_",
    "pypi-",
    "hf_",
    "SG.",
    "lin_api_",
    "ntn_",
    "secret_",
    "sntrys_",
    "sbp_",
    "dop_v1_",
    "tvly-",
    "fc-",
    "figd_",
    "pat-",
    "key-",
    "Bearer ",
    "bearer ",
    "Basic ",
    "basic ",
    "-----BEGIN",
];
/// Shorter ones are words.
const SHORTEST: usize = 12;
/// Text without spaces that mixes letters and digits for so long is no name.
const RANDOM: usize = 32;

/// Whether a variable, header, option or parameter of this name holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    // Names of files and of other variables are no secrets, whatever they lead to.
    if ["_file", "_path", "-file", "-path", "_env_var"]
        .iter()
        .any(|end| lower.ends_with(end))
    {
        return false;
    }
    NAMES.iter().any(|part| lower.contains(part))
        || words(name).any(|word| WORDS.contains(&word.as_str()))
}

/// Whether a text is a secret, whatever its name.
pub(crate) fn is_secret_value(text: &str) -> bool {
    let text = text.trim();
    let begins = BEGINNINGS
        .iter()
        .any(|beginning| text.starts_with(beginning) && text.len() >= SHORTEST);
    begins || has_password(text) || has_secret_parameter(text) || is_random(text)
}

/// The text with every quoted text that is, or may be, a secret taken out; for showing a line of
/// somebody's file.
pub(crate) fn masked(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    // Whether what stands before names a secret.
    let mut named = false;
    while let Some((before, quote, inner, after)) = quoted(rest) {
        // TOML's keys have no quotes.
        if before.contains(['=', ':']) {
            named |= is_secret_name(before);
        }
        shown.push_str(before);
        let is_name = after.trim_start().starts_with([':', '=']);
        let pair = inner.split_once(['=', ':']);
        let told = pair.is_some_and(|(name, value)| !value.is_empty() && is_secret_name(name));
        let hidden = (named || told || is_secret_value(inner)) && !is_name && !refers(inner);
        if hidden && !inner.is_empty() {
            shown.push_str(&format!("{quote}…{quote}"));
        } else {
            shown.push_str(&format!("{quote}{inner}{quote}"));
        }
        // A key, or an option in front of its value.
        named = (is_name || inner.starts_with('-')) && is_secret_name(inner);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Whether a text only says where the secret is.
fn refers(text: &str) -> bool {
    let rest = text.trim_start_matches("Bearer ").trim();
    (rest.starts_with("${") || rest.starts_with("{env:")) && rest.ends_with('}')
}

/// What stands before a quoted text, its quote, the text, and what stands behind.
fn quoted(line: &str) -> Option<(&str, char, &str, &str)> {
    let start = line.find(['"', '\''])?;
    let quote = line[start..].chars().next()?;
    let inside = &line[start + 1..];
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && quote == '"' && !escaped;
        ends
    })?;
    Some((&line[..start], quote, &inside[..end], &inside[end + 1..]))
}

/// `API-Key`, `apiKey` and `API_KEY` all have the word `key`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut lower_before = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && lower_before) {
            parts.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(last) = parts.last_mut()
        {
            last.push(c.to_ascii_lowercase());
        }
        lower_before = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    parts.into_iter()
}

/// `postgres://user:password@host`
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once(':'))
        .is_some_and(|(_, password)| !password.is_empty())
}

/// `https://host/mcp?api_key=…`
fn has_secret_parameter(text: &str) -> bool {
    let query = text.contains("://").then(|| text.split_once('?')).flatten();
    query.is_some_and(|(_, query)| {
        query.split('&').any(|pair| {
            pair.split_once('=')
                .is_some_and(|(name, value)| !value.is_empty() && is_secret_name(name))
        })
    })
}

fn is_random(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '=');
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    text.len() >= RANDOM && text.chars().all(plain) && digits >= 4 && letters >= 4
}
