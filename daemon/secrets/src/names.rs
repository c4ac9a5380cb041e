//! Decides which names of variables, headers, options, query parameters and JSON members announce a secret.
//!
//! A name is matched word by word (`apiKey`, `API-Key` and `API_KEY` are the same), never by substrings: `tokenizer`,
//! `keyboard` and `monkey` do not announce a secret. Compound words count if they end with a long keyword
//! (`PGPASSWORD`, `githubtoken`).

/// How likely a name announces a secret.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Suspicion {
    /// The name does not announce a secret.
    None,
    /// The value may be a secret: `key`, `session`, `auth`. The value of an option or a variable is a secret; a JSON
    /// member may be something else.
    Likely,
    /// The value is a secret: `password`, `api_key`, `authorization`.
    Certain,
}

const CERTAIN: &[&str] = &[
    "passcode",
    "cred",
    "cookie",
    "bearer",
    "jwt",
    "masterkey",
    "signingkey",
    "encryptionkey",
    "dbpass",
    "userpass",
    "rootpass",
    "smtppass",
];
/// Words that are certain, as is a longer word that ends with one: a compound.
const ENDINGS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "authorization",
    "apikey",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
];
const LIKELY: &[&str] = &[
    "key",
    "pass",
    "pwd",
    "pw",
    "pat",
    "auth",
    "oauth",
    "authentication",
    "session",
    "private",
    "dsn",
    "webhook",
    "signature",
    "sig",
    "sid",
    "otp",
    "totp",
];
/// Words before `key` that make it certainly a secret.
const KEYS_OF_ACCESS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "admin",
    "app",
    "application",
    "client",
    "consumer",
    "deploy",
    "encryption",
    "license",
    "master",
    "service",
    "shared",
    "signing",
    "storage",
    "subscription",
];
/// Words before `key` that make it not a secret.
const KEYS_OF_DATA: &[&str] = &[
    "public",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "idempotency",
    "dedup",
    "group",
    "index",
    "object",
    "row",
    "range",
    "shard",
    "routing",
    "map",
    "dict",
    "hot",
    "project",
    "issue",
    "column",
    "field",
    "parent",
    "lookup",
    "unique",
    "composite",
    "arrow",
    "enter",
    "escape",
    "tab",
    "shift",
];
/// Words before `token` that make it a pagination cursor.
const PAGES: &[&str] = &["page", "next", "continuation", "cursor"];
/// With one of these words, `token` or `tokens` is a count.
const COUNTS: &[&str] = &[
    "max", "min", "num", "limit", "count", "per", "budget", "maximum", "minimum", "number",
];
/// With one of these words, `tokens` is a count, but `token` is not (`INPUT_TOKEN` is a token).
const COUNTS_OF_MANY: &[&str] = &[
    "total",
    "input",
    "output",
    "prompt",
    "completion",
    "used",
    "usage",
    "context",
    "cached",
    "reasoning",
    "remaining",
    "estimated",
    "n",
];
/// A name that ends with one of these describes a secret, but its value is not a secret.
const ABOUT: &[&str] = &[
    "file",
    "files",
    "path",
    "paths",
    "dir",
    "directory",
    "folder",
    "type",
    "types",
    "mode",
    "method",
    "methods",
    "name",
    "names",
    "url",
    "uri",
    "endpoint",
    "host",
    "hostname",
    "port",
    "ttl",
    "timeout",
    "expiry",
    "expiration",
    "expires",
    "lifetime",
    "age",
    "duration",
    "interval",
    "id",
    "ids",
    "author",
    "authority",
    "env",
    "var",
    "variable",
    "header",
    "prefix",
    "suffix",
    "length",
    "size",
    "count",
    "limit",
    "budget",
    "enabled",
    "disabled",
    "required",
    "allowed",
    "provider",
    "issuer",
    "scope",
    "scopes",
    "audience",
    "realm",
    "region",
    "domain",
    "version",
    "algorithm",
    "alg",
    "format",
    "style",
    "strategy",
    "policy",
    "store",
    "backend",
    "manager",
    "helper",
    "command",
    "cmd",
    "hint",
    "label",
    "title",
    "description",
    "through",
    "in",
    "at",
];
/// Exceptions to [`ABOUT`]: names with these endings are secrets.
const SECRET_ALL_THE_SAME: &[[&str; 2]] = &[
    ["session", "id"],
    ["secret", "id"],
    ["webhook", "url"],
    ["webhook", "uri"],
];

/// How likely `name` announces a secret.
pub fn suspicion(name: &str) -> Suspicion {
    let words = words(name);
    let pair = words.last_chunk::<2>();
    let is = |pair: &[String; 2], known: &[&str; 2]| pair[0] == known[0] && pair[1] == known[1];
    if pair.is_some_and(|pair| SECRET_ALL_THE_SAME.iter().any(|known| is(pair, known))) {
        return Suspicion::Certain;
    }
    if words
        .last()
        .is_some_and(|last| ABOUT.contains(&last.as_str()))
    {
        return Suspicion::None;
    }
    (0..words.len())
        .map(|at| of_word(&words, at))
        .max()
        .unwrap_or(Suspicion::None)
}

fn of_word(words: &[String], at: usize) -> Suspicion {
    let word = words[at].as_str();
    let before = at
        .checked_sub(1)
        .map_or("", |before| words[before].as_str());
    let singular = word.strip_suffix('s').unwrap_or(word);
    let beside = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    match singular {
        "token" if PAGES.contains(&before) || beside(COUNTS) => return Suspicion::None,
        "token" if word == "tokens" && beside(COUNTS_OF_MANY) => return Suspicion::None,
        "key" if KEYS_OF_DATA.contains(&before) => return Suspicion::None,
        "key" if KEYS_OF_ACCESS.contains(&before) => return Suspicion::Certain,
        "string" if ["connection", "conn"].contains(&before) => return Suspicion::Certain,
        _ => {}
    }
    let ends = |ending: &&str| singular.ends_with(*ending);
    if CERTAIN.contains(&singular) || CERTAIN.contains(&word) || ENDINGS.iter().any(ends) {
        return Suspicion::Certain;
    }
    // `sessions` and `signatures` are lists of things.
    if LIKELY.contains(&word) || word == "keys" {
        Suspicion::Likely
    } else {
        Suspicion::None
    }
}

/// The words of a name in lower case, without trailing digits.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (at, c) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    // `APIKey`
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.push(c.to_ascii_lowercase());
        }
    }
    for word in &mut words {
        word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    }
    words.retain(|word| !word.is_empty());
    // `OAuth` is one word.
    if let Some(at) = words.windows(2).position(|pair| pair == ["o", "auth"]) {
        words.splice(at..at + 2, ["oauth".to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognized_in_every_spelling() {
        for name in [
            "TOKEN",
            "GITHUB_TOKEN",
            "githubToken",
            "github-token",
            "githubtoken",
            "X-CSRF-Token",
            "API_TOKENS",
            "INPUT_TOKEN",
            "INPUT_GITHUB_TOKEN",
            "PAGE_ACCESS_TOKEN",
            "refresh_token",
            "SECRET",
            "client_secret",
            "clientSecret",
            "SECRET_KEY_BASE",
            "secret_id",
            "PASSWORD",
            "PGPASSWORD",
            "MYSQL_PASSWORD",
            "DB_PASSWORD_1",
            "password2",
            "passwd",
            "SSH_PASSPHRASE",
            "--password",
            "--api-key",
            "API_KEY",
            "apiKey",
            "APIKey",
            "APIKEY",
            "openai_apikey",
            "X-Api-Key",
            "AWS_SECRET_ACCESS_KEY",
            "private_key",
            "privateKey",
            "ENCRYPTION_KEY",
            "TS_AUTHKEY",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
            "cookies",
            "credentials",
            "GOOGLE_CREDENTIALS",
            "creds",
            "bearer",
            "JWT",
            "session_id",
            "Mcp-Session-Id",
            "WEBHOOK_URL",
            "SLACK_WEBHOOK_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "connectionString",
            "SMTPPASS",
        ] {
            assert_eq!(suspicion(name), Suspicion::Certain, "{name}");
        }
        for name in [
            "key",
            "KEY",
            "X-Key",
            "KEYS",
            "LICENSE_PAT",
            "GITHUB_PAT",
            "DB_PASS",
            "pass",
            "pwd",
            "pw",
            "auth",
            "OAUTH",
            "oAuth",
            "X-Auth",
            "session",
            "PRIVATE",
            "SENTRY_DSN",
            "webhook",
            "signature",
            "sig",
            "sid",
            "TWILIO_ACCOUNT_SID",
            "HMAC_KEY",
        ] {
            assert_eq!(suspicion(name), Suspicion::Likely, "{name}");
        }
    }

    #[test]
    fn other_names_announce_nothing() {
        for name in [
            "",
            "-",
            "PATH",
            "HOME",
            "tokenizer",
            "TOKENIZER_PATH",
            "tokenize",
            "tokenization",
            "passwordless",
            "keyboard",
            "KEYBOARD",
            "monkey",
            "turkey",
            "keyring",
            "keymap",
            "keyword",
            "keywords",
            "hotkey",
            "compass",
            "bypass",
            "passenger",
            "passive",
            "passport",
            "secretary",
            "cookiecutter",
            "author",
            "authors",
            "authority",
            "authorized_users",
            "AUTH_TYPE",
            "auth-mode",
            "AUTH_URL",
            "token_url",
            "TOKEN_FILE",
            "--token-file",
            "password_path",
            "SSH_KEY_PATH",
            "key_id",
            "client_id",
            "token_type",
            "max_tokens",
            "maxTokens",
            "MAX_TOKENS",
            "max_output_tokens",
            "num_tokens",
            "input_tokens",
            "total_tokens",
            "prompt_tokens",
            "completionTokens",
            "tokens_per_minute",
            "token_count",
            "token_limit",
            "token_budget",
            "nextPageToken",
            "next_token",
            "page_token",
            "continuationToken",
            "public_key",
            "primary_key",
            "sort_key",
            "foreignKey",
            "idempotency_key",
            "cache-key",
            "partitionKey",
            "projectKey",
            "expires_in",
            "token_expires_in",
            "sessions",
            "session_timeout",
            "cookie_name",
            "secret_name",
            "credential_helper",
            "password_command",
            "pass_through",
            "credentials_file",
            "oauth_scopes",
            "patch",
            "path",
            "pattern",
            "patient",
            "dispatch",
            "sidebar",
            "inside",
            "residence",
            "design",
            "assignee",
            "signal",
            "privately",
            "author_id",
            "username",
            "port",
            "log-level",
            "db-path",
            "mode",
            "url",
            "env",
            "bearing",
            "desktop",
            "optional",
            "notes",
            "api_version",
            "api",
            "access",
            "client",
            "bearer_token_env_var",
        ] {
            assert_eq!(suspicion(name), Suspicion::None, "{name}");
        }
    }
}
