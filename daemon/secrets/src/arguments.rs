//! Finds secrets in command-line arguments: after an option that announces one (`--token x`, `--api-key=x`, `TOKEN=x`,
//! `Authorization: Bearer x`), in a URL, or by the shape of a word.
//!
//! References (`${TOKEN}`), switches and file paths are not secrets.

use crate::{
    MASK,
    names::{Suspicion, suspicion},
    scan::{self, Piece},
    shape::{is_path, is_reference, is_secret_value, looks_generated, may_be_secret},
};

/// Options whose values look generated but are not secrets.
const PLAIN: &[&str] = &[
    "commit", "sha", "sha256", "rev", "revision", "ref", "digest", "hash", "checksum", "uuid",
    "id", "model", "version", "tag", "branch", "image",
];

/// The words of a command line for display, with secrets masked.
pub fn masked(words: &[String]) -> Vec<String> {
    let found = each(words);
    let shown = words.iter().zip(found).map(|(word, secrets)| {
        let hide = |text: String, secret: &&str| text.replace(*secret, MASK);
        secrets.iter().fold(word.clone(), hide)
    });
    shown.collect()
}

/// The secrets of all words.
pub fn secrets(words: &[String]) -> Vec<&str> {
    each(words).concat()
}

/// Splits a word such as `--token=x`, `TOKEN=x` or `X-Key: x`. Returns the name, and the offset of the value.
pub fn named_value(word: &str) -> Option<(&str, usize)> {
    let at = word.find(['=', ':'])?;
    let name = &word[..at];
    let value = &word[at + 1..];
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !value.starts_with("//");
    let padding = value.len() - value.trim_start().len();
    is_name.then_some((name, at + 1 + padding))
}

/// Returns true if a word is an option whose value, the next word, is a secret.
pub fn announces_secret(word: &str) -> bool {
    is_option(word) && suspicion(word) > Suspicion::None
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("-----") && !word.contains(['=', ':'])
}

/// The secrets in each word.
fn each(words: &[String]) -> Vec<Vec<&str>> {
    let mut option: Option<&str> = None;
    let found = words.iter().map(|word| {
        let before = option.take();
        if is_option(word) && !is_secret_value(word.trim_start_matches('-')) {
            option = Some(word);
            return Vec::new();
        }
        match before {
            Some(option) if announces_secret(option) => of_value(option, word),
            Some(option) if is_plain(option) && !scan::finds(word) => Vec::new(),
            _ => in_word(word),
        }
    });
    found.collect()
}

/// The secret in a value whose name announces one, without its authentication scheme.
fn value<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    let value = value.trim();
    let value = ["Bearer ", "bearer ", "Basic ", "basic ", "token "]
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme))
        .unwrap_or(value);
    may_be_secret(name, value).then_some(value)
}

fn of_value<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    match value(name, text) {
        Some(secret) => vec![secret],
        // A URL may still contain one.
        None => in_prose(text),
    }
}

fn in_word(word: &str) -> Vec<&str> {
    if let Some((name, at)) = named_value(word) {
        let text = &word[at..];
        if suspicion(name) > Suspicion::None {
            return of_value(name, text);
        }
        if text.contains("://") {
            return in_address(text);
        }
        if is_plain(name) && !scan::finds(text) {
            return Vec::new();
        }
        if is_secret_value(text) && !is_path(text) && !is_reference(text) {
            return value("token", text).into_iter().collect();
        }
    }
    if word.contains("://") {
        return in_address(word);
    }
    let mut found = in_prose(word);
    let generated = word.split_whitespace().filter(|part| looks_generated(part));
    found.extend(generated);
    found
}

fn in_prose(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let piece = Piece {
        text: word,
        follows_mask: false,
        precedes_mask: false,
    };
    scan::secrets(piece, &mut found);
    found.into_iter().map(|span| &word[span]).collect()
}

/// Secrets in a URL: secrets found in prose, query values whose names announce a secret, and parts of the path or
/// query that look generated.
fn in_address(word: &str) -> Vec<&str> {
    let mut found = in_prose(word);
    let start = word.find("://").map_or(0, |at| at + "://".len());
    let (rest, query) = word[start..]
        .split_once('?')
        .map_or((&word[start..], ""), |(rest, query)| (rest, query));
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    found.extend(path.split('/').filter(|part| looks_generated(part)));
    for pair in query.split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && (suspicion(name) > Suspicion::None || looks_generated(value))
            && may_be_secret(name, value)
        {
            found.push(value);
        }
    }
    found
}

fn is_plain(option: &str) -> bool {
    let name = option.trim_start_matches('-').to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    PLAIN.contains(&last) && suspicion(&name) == Suspicion::None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        masked(&words).join(" ")
    }

    #[test]
    fn literal_secrets_in_arguments_are_masked() {
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
                &["pg", "--dsn=postgresql://me:hunter22@h/db"],
                "pg --dsn=***",
            ),
            (
                &["pg", "--db=postgresql://me:hunter22@h/db"],
                "pg --db=postgresql://me:***@h/db",
            ),
            (
                &["x", "https://h/mcp?api_key=abc&v=1"],
                "x https://h/mcp?api_key=***&v=1",
            ),
            (
                &["x", "https://h/s/aZ81kQ0p2Lm4Xn7Wq/mcp"],
                "x https://h/s/***/mcp",
            ),
            (&["x", "--key", "abc0Def1Ghi2Jkl3"], "x --key ***"),
            (&["x", "--session", "s1"], "x --session ***"),
            (&["x", "--pass", "1234"], "x --pass ***"),
            (
                &["x", "--auth=https://u:hunter22@h/"],
                "x --auth=https://u:***@h/",
            ),
            (&["x", "--value=aZ81kQ0p2Lm4Xn7Wq"], "x --value=***"),
            (&["x", "123e4567-e89b-12d3-a456-426614174000"], "x ***"),
            (&["x", "-e", "MODE:Bearer abcdefgh"], "x -e MODE:Bearer ***"),
        ] {
            assert_eq!(shown(words), expected);
        }
        // Concatenated, because secret scanners would report this file otherwise.
        for token in [
            ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat(),
            ["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"].concat(),
        ] {
            assert_eq!(shown(&["x", &token]), "x ***");
        }
    }

    #[test]
    fn other_arguments_are_unchanged() {
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
            "--model claude-sonnet-4-20250514-thinking-preview --max-tokens 4096",
            "--commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 --no-cookies --tokenizer cl100k_base",
            "--project-id 123e4567-e89b-12d3-a456-426614174000 --image mcp/x@sha256:4b825dc642cb6eb9",
            "git+https://github.com/x/y@4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "--page-token=abc --primary-key id --keyboard us",
        ] {
            let words: Vec<&str> = harmless.split(' ').collect();
            assert_eq!(shown(&words), harmless);
        }
    }
}
