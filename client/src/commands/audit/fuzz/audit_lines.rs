//! Audit logs with damaged lines: a damaged line costs itself, and a log that is followed has the lines of its files.

use std::fs;

use mux_chance::{
    damage::{Damage, cuts, damage_of, pieces},
    holds,
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

use super::super::{AuditTail, audit_files::list_audit_files, read_past_entries};
use crate::args::AuditArgs;

const TOKENS: &[&str] = &[
    "\r", "\"", "{", "}", "\0", "null", "\"at\":1", "\u{2028}", "[", "1e999",
];

fn entry() -> impl Strategy<Value = Value> {
    let text = || prop_oneof![3 => "[a-z.\u{e9}\n]{0,9}", 1 => any::<String>()];
    let kind = select(&["call", "login", "approve"][..]);
    (0..2_000_000_000_u64, kind, text(), text()).prop_map(|(seconds, kind, path, outcome)| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        json!({ "at": humantime::format_rfc3339_millis(at).to_string(), "kind": kind, "path": path, "outcome": outcome })
    })
}

#[test]
fn fuzz_damaged_line_of_the_audit_log_costs_itself() {
    let values = (
        vec(entry(), 1..8),
        any::<Index>(),
        vec(damage_of(TOKENS), 0..4),
        "[ -~]{0,9}",
        cuts(),
    );
    holds(
        "audit_lines",
        200,
        values,
        |(entries, which, damages, torn, cuts): (Vec<Value>, Index, Vec<Damage>, String, _)| {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("audit-0000000000001.jsonl");
            let which = which.index(entries.len());
            let mut text = Vec::new();
            for (index, entry) in entries.iter().enumerate() {
                let mut line = entry.to_string().into_bytes();
                if index == which {
                    for damage in &damages {
                        damage.apply(&mut line);
                    }
                }
                text.extend(line);
                text.push(b'\n');
            }
            let whole = text.len() as u64;
            // The last line is being written.
            text.extend(torn.as_bytes());
            fs::write(&path, &text).unwrap();
            let files = list_audit_files(home.path());
            let past = read_past_entries(&files, &AuditArgs::default(), usize::MAX).unwrap();
            prop_assert_eq!(past.read, whole);
            for (index, entry) in entries.iter().enumerate() {
                if index != which || damages.is_empty() {
                    prop_assert!(past.entries.contains(entry), "{entry} is lost");
                }
            }
            prop_assert!(past.entries.len() <= entries.len() + damages.len() * 2);
            // Followed from the beginning, while it is written piece by piece.
            fs::write(&path, "").unwrap();
            let mut tail = AuditTail::open_at(home.path(), &files[0], 0).unwrap();
            let mut lines = Vec::new();
            for piece in pieces(&text, &cuts) {
                let mut file = fs::File::options().append(true).open(&path).unwrap();
                std::io::Write::write_all(&mut file, piece).unwrap();
                lines.extend(tail.read_new_lines().unwrap());
            }
            let expected = text[..text.len() - torn.len()].split_inclusive(|byte| *byte == b'\n');
            let expected: Vec<String> = expected
                .map(|line| String::from_utf8_lossy(&line[..line.len() - 1]).into_owned())
                .collect();
            prop_assert_eq!(lines, expected);
            Ok(())
        },
    );
}
