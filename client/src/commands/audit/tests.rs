//! Tests with the files of an audit log.

use std::fs;

use super::*;

fn line(second: u64, path: &str) -> String {
    format!(
        "{{\"at\":\"2026-11-22T01:00:{second:02}.000Z\",\"kind\":\"call\",\"path\":\"{path}\"}}\n"
    )
}

#[test]
fn latest_entries_of_several_files_are_in_order_and_torn_lines_are_skipped() {
    let home = tempfile::tempdir().unwrap();
    let write = |began: u64, text: String| {
        fs::write(home.path().join(format!("audit-{began:013}.jsonl")), text).unwrap();
    };
    write(1_795_309_201_000, line(1, "a.1") + &line(2, "a.2"));
    write(
        1_795_309_203_000,
        line(3, "a.3") + "{\"at\":\"2026-1\n" + &line(4, "a.4"),
    );
    fs::write(home.path().join("key"), "0000").unwrap();
    let files = list_audit_files(home.path());
    let paths = |most| {
        let PastEntries { entries, torn, .. } =
            read_past_entries(&files, &args::AuditArgs::default(), most).unwrap();
        let paths = entries
            .iter()
            .map(|entry| entry["path"].as_str().unwrap().to_owned());
        (paths.collect::<Vec<_>>(), torn)
    };
    assert_eq!(
        paths(9),
        (["a.1", "a.2", "a.3", "a.4"].map(String::from).into(), 1)
    );
    assert_eq!(
        paths(3),
        (["a.2", "a.3", "a.4"].map(String::from).into(), 1)
    );
    assert_eq!(paths(1).0, ["a.4"]);
}

#[test]
fn tail_follows_whole_lines_into_the_next_file() {
    let home = tempfile::tempdir().unwrap();
    let path = |began: u64| home.path().join(format!("audit-{began:013}.jsonl"));
    fs::write(path(1), "old\non").unwrap();
    let files = list_audit_files(home.path());
    let read = files[0].read_complete_lines().unwrap();
    assert_eq!(read, (vec!["old".to_owned()], 4));
    let mut tail = AuditTail::open_at(home.path(), &files[0], read.1).unwrap();
    assert!(tail.read_new_lines().unwrap().is_empty());
    fs::write(path(1), "old\none\ntw").unwrap();
    assert_eq!(tail.read_new_lines().unwrap(), ["one"]);
    fs::write(path(1), "old\none\ntwo\n").unwrap();
    fs::write(path(2), "three\n").unwrap();
    assert_eq!(tail.read_new_lines().unwrap(), ["two", "three"]);
}
