//! The prose of documentation and comments: constructions that are foreign, or tire when they are frequent, stay as rare
//! as they are in the code bases that this one learns from.

use std::{fmt::Write as _, fs, path::PathBuf};

use regex::Regex;

use super::{pages, prose, root};
use crate::opened_paths::source_files;

/// A construction, and how often it may occur in 10,000 words of documentation and of comments.
struct Construction {
    name: &'static str,
    pattern: &'static str,
    most: [f64; 2],
}

const CONSTRUCTIONS: &[Construction] = &[
    Construction {
        name: "a sentence that begins with `What`",
        pattern: r"(?:^|[.!?:] |\n)What\b",
        most: [1.0, 1.0],
    },
    Construction {
        name: "a sentence that begins with `Whether`",
        pattern: r"\bWhether\b",
        most: [4.0, 10.0],
    },
    Construction {
        name: "a sentence that begins with a pronoun",
        pattern: r"(?:[.!?] |\n)(?:It|They|Its|Those|That)\b",
        most: [5.0, 6.0],
    },
    Construction {
        name: "`one that` and `those that`",
        pattern: r"\b(?:one|those) (?:that|which|who)\b",
        most: [1.3, 1.3],
    },
    Construction {
        name: "`so that`",
        pattern: r"\bso that\b",
        most: [4.0, 4.5],
    },
    Construction {
        name: "`in force`",
        pattern: r"\bin force\b",
        most: [0.2, 0.2],
    },
    Construction {
        name: "`of its own`",
        pattern: r"\bof (?:its|their|your|his) own\b",
        most: [0.5, 0.6],
    },
    Construction {
        name: "`names of servers` for `server names`",
        pattern: r"\b(?:names?|lists?|values?|calls?|results?|kinds?|arguments?|types?) of (?:servers|tools|runs|agents|calls|programs|files|clients|sources|workers|requests|sessions)\b",
        most: [0.6, 0.9],
    },
    Construction {
        name: "`shall`",
        pattern: r"\bshall\b",
        most: [0.2, 0.2],
    },
    Construction {
        name: "a clause after a semicolon",
        pattern: r"; [a-z]",
        most: [15.0, 15.0],
    },
];

/// Joins the lines of each paragraph.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    let mut was_blank = true;
    for line in text.lines().map(str::trim) {
        let is_start = was_blank || line.is_empty() || line.starts_with(['-', '*', '#', '|']);
        joined.push(if is_start { '\n' } else { ' ' });
        joined.push_str(line);
        was_blank = line.is_empty();
    }
    joined
}

/// The comments of a Rust file, a blank line where code is between them.
fn comments(text: &str) -> String {
    let comment = Regex::new(r"^\s*//[/!]?\s?(.*)$").unwrap();
    let lines = text.lines().map(|line| {
        let found = comment.captures(line);
        found.map_or_else(String::new, |found| found[1].to_owned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn rust_sources() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["client", "daemon", "proto", "sandbox"] {
        source_files(&root().join(folder), &mut files);
    }
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    files.into_iter().map(read).collect()
}

/// The constructions that are too frequent, each with its rate.
fn excesses(what: &str, texts: &[String], column: usize) -> Vec<String> {
    let word = Regex::new(r"[A-Za-z']+").unwrap();
    let texts: Vec<String> = texts.iter().map(|text| joined(text)).collect();
    let words: usize = texts.iter().map(|text| word.find_iter(text).count()).sum();
    let mut found = Vec::new();
    let mut all = String::new();
    for construction in CONSTRUCTIONS {
        let pattern = Regex::new(construction.pattern).unwrap();
        let count: usize = texts
            .iter()
            .map(|text| pattern.find_iter(text).count())
            .sum();
        let rate = count as f64 / words as f64 * 1e4;
        let most = construction.most[column];
        _ = writeln!(all, "{what}: {rate:.1} of {most} {}", construction.name);
        if rate > most {
            found.push(format!(
                "{what}: {} {rate:.1} times in 10,000 words, at most {most}",
                construction.name
            ));
        }
    }
    if !found.is_empty() {
        found.push(all);
    }
    found
}

#[test]
fn prose_of_documentation_and_comments_is_idiomatic() {
    let documentation: Vec<String> = pages()
        .into_iter()
        .map(|(_, text)| prose(&text).collect::<Vec<_>>().join("\n"))
        .collect();
    let comments: Vec<String> = rust_sources().iter().map(|text| comments(text)).collect();
    let mut found = excesses("documentation", &documentation, 0);
    found.extend(excesses("comments", &comments, 1));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
