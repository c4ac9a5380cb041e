//! Several hundred strings without secrets, which must pass unchanged.

use mux_secrets::{Masker, is_secret};

/// Strings from servers, agents and users, one per line.
const TEXTS: &str = include_str!("data/ordinary.txt");
/// Variables and options from configurations, one per line.
const VALUES: &str = include_str!("data/values.txt");

#[test]
fn ordinary_texts_are_unchanged() {
    let masker = Masker::default();
    let lines: Vec<&str> = TEXTS.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 250, "{}", lines.len());
    for line in &lines {
        assert_eq!(masker.text(line), *line);
    }
    // Also as one string: no token spans two lines.
    assert_eq!(masker.text(TEXTS), TEXTS);
}

#[test]
fn ordinary_values_are_not_secrets() {
    let lines: Vec<&str> = VALUES.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 80, "{}", lines.len());
    for line in lines {
        let (name, value) = line.split_once('=').unwrap();
        assert!(!is_secret(name, value), "{line}");
    }
}

/// None of the generated identifiers is a token.
#[test]
fn uuids_hashes_versions_and_numbers_are_unchanged() {
    let masker = Masker::default();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..500 {
        let a = next();
        let b = next();
        let c = next();
        for text in [
            format!(
                "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                a >> 32,
                b & 0xffff,
                b >> 52,
                c >> 52,
                c & 0xffff_ffff_ffff
            ),
            format!("{a:016x}{b:016x}{:08x}", c >> 32),
            format!("{a:016x}{b:016x}{c:016x}{a:016x}"),
            format!("sha256:{a:016x}{b:016x}{c:016x}{b:016x}"),
            format!("commit {a:016x}{b:016x}{:08x} (HEAD -> main)", c >> 32),
            format!("00-{a:016x}{b:016x}-{c:016x}-01"),
            format!("v{}.{}.{}-rc.{}", a % 99, b % 99, c % 99, a % 9),
            format!(
                "{a} {b} {c} 2026-11-22T{:02}:{:02}:00.{:03}Z",
                a % 24,
                b % 60,
                c % 1000
            ),
            format!(
                "https://example.com/a/{a:x}/b?page={}&cursor={b:x}",
                c % 100
            ),
            format!("/var/lib/x/{a:x}/{b:x}.json:{}", c % 4000),
            format!("run_{a:x} call_{b:x} req-{c:x} toolu_{a:x} msg_{b:x} asst_{c:x}"),
        ] {
            assert_eq!(masker.text(&text), text);
        }
    }
}

/// Characters of Base64 that repeat after a long time, in both cases and with digits.
fn base64(length: usize) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ALPHABET[(state >> 16) as usize % ALPHABET.len()] as char
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn fonts_and_scripts_are_unchanged() {
    let masker = Masker::default();
    let head = base64(400);
    let tail = base64(100);
    for text in [
        // A page of an MCP App: the word list of a validation library, and fonts.
        "items.patternProperties.propertyNames.minProperties.maxProperties.exclusiveMinimum.unevaluatedProperties.required"
            .to_owned(),
        format!("url(data:font/woff2;base64,{head}/EAA{tail}+A)"),
        format!("url(data:application/font-woff2;charset=utf-8;base64,{head}/EAA{tail})"),
        format!("src=\"data:image/png;base64,{head}+AKIAIOSFODNN7EXAMPLE+A==\""),
        // Base64 outside of a URI.
        format!("var font = '{head}/EAA{tail}'"),
        format!("{head}+EAA{tail}"),
    ] {
        assert_eq!(masker.text(&text), text);
    }
}

#[test]
fn data_uris_do_not_hide_tokens() {
    let masker = Masker::default();
    let github = ["ghp_", "k9Qz3VxB7mTr1HjW5nYck9Qz3VxB7mTr1HjW"].concat();
    let aws = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    let payload = base64(400);
    for (text, token) in [
        (format!("data:text/plain,{github}"), &github),
        (format!("data:image/png,{github}"), &github),
        (format!("data:image/png;base64,{aws}"), &aws),
        (format!("data:image/png;base64,{github}"), &github),
        (
            format!("data:application/json;base64, {aws} {payload}"),
            &aws,
        ),
        (format!("data:image/png;base64,{payload}{github}"), &github),
        (
            format!("data:image/png;base64,{payload}=\n{github}"),
            &github,
        ),
        (format!("data:font/woff2;base64,{payload} {aws}"), &aws),
        (format!("data:;base64,{payload} {github}"), &github),
        (format!("https://example.com/some/path/{aws}"), &aws),
        (format!("key: /{aws}"), &aws),
    ] {
        assert!(!masker.text(&text).contains(token.as_str()), "{text}");
    }
}
