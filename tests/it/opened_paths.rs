//! Files of the workspace that open, resolve or create files by path otherwise than through `mux-paths`.
//!
//! `tests/data/opened-paths.txt` lists them with the reason why nobody else can shape those paths. Code without an entry
//! fails the test: either its paths are nobody else's, which the entry says, or it must use `mux-paths`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

const LIST: &str = include_str!("../data/opened-paths.txt");
const REASONS: &[&str] = &["own", "user", "program", "kernel", "judged"];
/// Calls of the standard library that follow links at a path.
const OPENERS: &str = r"\bfs::(write|read|read_to_string|copy|canonicalize)\(|File::(open|create|create_new|options)\(|OpenOptions::new\(|\.canonicalize\(\)";

pub(crate) fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap();
            if !["fuzz", "node_modules", "target", "tests"]
                .iter()
                .any(|it| name == *it)
            {
                source_files(&path, found);
            }
        } else if path.extension().is_some_and(|it| it == "rs")
            && !path.to_string_lossy().ends_with("tests.rs")
        {
            found.push(path);
        }
    }
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> String {
    let end = Regex::new(r"(?m)^#\[cfg\((all\()?test").unwrap();
    let text = end.find(text).map_or(text, |tests| &text[..tests.start()]);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn paths_that_somebody_else_could_shape_are_opened_in_one_crate() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["client/src", "daemon", "proto/src", "sandbox"] {
        source_files(&top.join(folder), &mut files);
    }
    let openers = Regex::new(OPENERS).unwrap();
    let name = |file: &PathBuf| file.strip_prefix(top).unwrap().display().to_string();
    let opening: Vec<String> = files
        .iter()
        .filter(|file| openers.is_match(&code(&fs::read_to_string(file).unwrap())))
        .map(name)
        .filter(|name| !name.starts_with("daemon/paths/"))
        .collect();
    let listed: BTreeMap<&str, &str> = LIST
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(' ').unwrap())
        .map(|(reason, file)| (file.trim(), reason))
        .collect();
    for (file, reason) in &listed {
        assert!(REASONS.contains(reason), "{file}: {reason} is no reason");
        assert!(
            opening.iter().any(|it| it == file),
            "{file} opens nothing: remove its line"
        );
    }
    let unlisted: Vec<_> = opening
        .iter()
        .filter(|it| !listed.contains_key(it.as_str()))
        .collect();
    assert!(
        unlisted.is_empty(),
        "these open files by path: use mux-paths, or list them in tests/data/opened-paths.txt with a reason: {unlisted:#?}"
    );
}
