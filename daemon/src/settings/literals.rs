//! Secrets that somebody wrote out in the arguments of a command, or in an address.
//!
//! A reference (`${TOKEN}`) is shown as it is written. A literal cannot be told from a harmless word for certain: it counts
//! as a secret behind a flag that says so, with a beginning that services give to their keys, or if it looks made by
//! nobody's hand.
//!
//! Invariant: what is masked for the eye is what no error repeats.

use super::Link;

/// Names whose values are secrets, however they look.
pub(super) const TELLING: &[&str] = &[
    "token", "key", "secret", "pass", "pwd", "auth", "cred", "cookie", "session", "private", "dsn",
];
/// Names of which one of these is a part by accident, or that take no secret.
const HARMLESS: &[&str] = &["keyboard", "keyring", "keymap", "compass", "bypass"];
/// How names end of what is about a secret and is none.
const ABOUT: &[&str] = &[
    "file",
    "path",
    "dir",
    "type",
    "mode",
    "method",
    "name",
    "url",
    "uri",
    "ttl",
    "timeout",
    "id",
    "author",
    "authority",
];
/// What services begin their keys with.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "shpat_",
    "SG.",
    "whsec_",
    "lin_api_",
    "ntn_",
    "secret_",
    "figd_",
    "tvly-",
    "pplx-",
    "gsk_",
    "r8_",
    "ATATT",
    "dapi",
    "fc-",
];
/// A shorter one is none, whatever it begins with.
const SHORTEST_KEY: usize = 12;
/// Letters and digits in one piece, mixed: no word is so long.
const MADE: usize = 16;
/// The same of hexadecimal digits, dashes or not.
const HEXADECIMAL: usize = 32;
const MASK: &str = "***";

impl Link {
    /// Whether an argument is written out that is masked: it stands in the file, and in the list of processes.
    pub fn has_literals(&self) -> bool {
        match self {
            Self::Process(process) => !found(&process.written).is_empty(),
            Self::Remote(_) | Self::Source(_) => false,
        }
    }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    TELLING.iter().any(|word| name.contains(word))
        && !HARMLESS.iter().any(|no| name.contains(no))
        && !ABOUT.contains(&last)
}

/// Command and arguments for the eye.
pub(super) fn masked(words: &[String]) -> Vec<String> {
    let found = each(words);
    let shown = words.iter().zip(found).map(|(word, secrets)| {
        let hide = |text: String, secret: &&str| text.replace(*secret, MASK);
        secrets.iter().fold(word.clone(), hide)
    });
    shown.collect()
}

/// Those in all of them.
pub(super) fn found(words: &[String]) -> Vec<String> {
    each(words)
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Of each word what is a secret.
fn each(words: &[String]) -> Vec<Vec<&str>> {
    let mut flagged = false;
    let found = words.iter().map(|word| {
        let was_flagged = std::mem::take(&mut flagged);
        if word.starts_with('-') && !word.contains('=') {
            flagged = is_telling(word);
            return Vec::new();
        }
        match was_flagged {
            true => plain(word).into_iter().collect(),
            false => in_word(word),
        }
    });
    found.collect()
}

fn in_word(word: &str) -> Vec<&str> {
    if word.contains("://") {
        return in_address(word);
    }
    // `--api-key=…`, `TOKEN=…`, `Authorization: Bearer …`
    for between in ["=", ": ", ":"] {
        if let Some((name, value)) = word.split_once(between)
            && is_name(name)
            && (is_telling(name) || looks_made(value))
        {
            let value = value.trim_start();
            let value = ["Bearer ", "Basic ", "token "]
                .iter()
                .find_map(|scheme| value.strip_prefix(scheme))
                .unwrap_or(value);
            return plain(value).into_iter().collect();
        }
    }
    word.split_whitespace()
        .filter(|part| looks_made(part))
        .collect()
}

/// A password, values of a query under telling names, and parts of the path that look made.
fn in_address(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let start = word.find("://").map_or(0, |at| at + "://".len());
    let (rest, query) = word[start..]
        .split_once('?')
        .map_or((&word[start..], ""), |(rest, query)| (rest, query));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some((user, _)) = authority.rsplit_once('@')
        && let Some((_, password)) = user.split_once(':')
    {
        found.extend(plain(password));
    }
    found.extend(path.split('/').filter(|part| looks_made(part)));
    for pair in query.split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && (is_telling(name) || looks_made(value))
        {
            found.extend(plain(value));
        }
    }
    found
}

/// A value of its own: no reference to one, and no file that holds it.
fn plain(value: &str) -> Option<&str> {
    let value = value.trim();
    let is_path = value.starts_with("~/")
        || value.starts_with("./")
        || value
            .strip_prefix('/')
            .is_some_and(|rest| rest.contains('/'));
    (!value.is_empty() && !value.contains("${") && !is_path).then_some(value)
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    !text.is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Whether nobody would have thought of it.
pub(super) fn looks_made(word: &str) -> bool {
    if word.contains("${") {
        return false;
    }
    let begins = BEGINNINGS.iter().any(|begins| word.starts_with(begins));
    let has = |text: &str, is: fn(char) -> bool| text.chars().any(is);
    let digit = |c: char| c.is_ascii_digit();
    if begins && word.len() >= SHORTEST_KEY && has(word, digit) && !word.contains('/') {
        return true;
    }
    let hexadecimal = word.chars().filter(char::is_ascii_hexdigit).count();
    if hexadecimal >= HEXADECIMAL && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
        return true;
    }
    if word.contains(['/', '\\', '@', '{', '(', ' ']) || word.starts_with(['.', '~']) {
        return false;
    }
    let mut pieces = word.split(|c: char| !c.is_ascii_alphanumeric());
    pieces.any(|piece| {
        let digits = piece.chars().filter(char::is_ascii_digit).count();
        piece.len() >= MADE && digits >= 3 && digits < piece.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        masked(&words).join(" ")
    }

    #[test]
    fn literals_that_are_secrets_are_masked_and_words_are_not() {
        for (words, expected) in [
            (&["srv", "--api-key=sk-live-1"][..], "srv --api-key=***"),
            (&["srv", "--token", "letters", "x"], "srv --token *** x"),
            (
                &["srv", "--token", "--verbose", "x"],
                "srv --token --verbose x",
            ),
            (&["srv", "--token", "${TOKEN}"], "srv --token ${TOKEN}"),
            (&["srv", "--api-key=${K}"], "srv --api-key=${K}"),
            (&["srv", "API_KEY=abc"], "srv API_KEY=***"),
            (
                &[
                    "npx",
                    "mcp-remote",
                    "https://h/sse",
                    "--header",
                    "Authorization: Bearer abcdef",
                ],
                "npx mcp-remote https://h/sse --header Authorization: Bearer ***",
            ),
            (&["x", "X-Key:${KEY}"], "x X-Key:${KEY}"),
            (
                &[
                    "pg",
                    "postgresql://me:hunter22@localhost/db?sslmode=require",
                ],
                "pg postgresql://me:***@localhost/db?sslmode=require",
            ),
            (
                &["x", "https://h/mcp?api_key=abc&v=1"],
                "x https://h/mcp?api_key=***&v=1",
            ),
            (
                &["x", "https://h/s/aZ81kQ0p2Lm4Xn7Wq/mcp"],
                "x https://h/s/***/mcp",
            ),
            (&["x", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"], "x ***"),
            (&["x", "123e4567-e89b-12d3-a456-426614174000"], "x ***"),
            (&["x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"], "x ***"),
        ] {
            assert_eq!(shown(words), expected);
        }
        for harmless in [
            "-y @modelcontextprotocol/server-github@2025.4.8",
            "mcp-server-sqlite --db-path /home/me/data2026/x.db",
            "--port 8080 --log-level=debug --transport=stdio",
            "https://api.example.com:8443/v1/mcp?tenant=acme",
            "C:\\Users\\me1234567890\\notes",
            "uvx mcp-server-time --local-timezone=Europe/Berlin",
            "--ssh-key=/home/me/.ssh/id --token-file token.txt --auth-type bearer",
            "--author=somebody --keyring=none --allowed-origins=http://localhost:3000",
            "-c print('hello world 1234567890123456')",
            "2025-11-25 3.14.159 us-east-1 claude-sonnet-4-20250514",
        ] {
            let words: Vec<&str> = harmless.split(' ').collect();
            assert_eq!(shown(&words), harmless);
        }
    }
}
