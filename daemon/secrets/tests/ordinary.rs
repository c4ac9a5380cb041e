//! Several hundred texts without secrets, which must pass unchanged.

use mux_secrets::{Masker, is_secret};

/// Texts of servers, agents and users, one per line.
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
    // Also as one text: no token spans two lines.
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
        let (a, b, c) = (next(), next(), next());
        for text in [
            format!(
                "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                a as u32,
                b as u16,
                b >> 52,
                c >> 52,
                c & 0xffff_ffff_ffff
            ),
            format!("{a:016x}{b:016x}{:08x}", c as u32),
            format!("{a:016x}{b:016x}{c:016x}{a:016x}"),
            format!("sha256:{a:016x}{b:016x}{c:016x}{b:016x}"),
            format!("commit {a:016x}{b:016x}{:08x} (HEAD -> main)", c as u32),
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
