//! The command line accepts every `mux` command that a message, a hint or a comment names in backticks.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::args::MuxCli;

/// The workspace folders whose strings users see.
const SOURCE_FOLDERS: &[&str] = &["client", "daemon", "proto", "sandbox"];
const SOURCE_EXTENSIONS: &[&str] = &["js", "rs", "ts"];
/// Stands for the name of a server, a run or an agent.
const PLACEHOLDER: &str = "x";
const SKIPPED_FOLDERS: &[&str] = &["dist", "node_modules", "out", "target"];

fn collect_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() && !SKIPPED_FOLDERS.contains(&name) {
            collect_sources(&path, found);
        } else if extension.is_some_and(|it| SOURCE_EXTENSIONS.contains(&it)) {
            found.push(path);
        }
    }
}

/// The commands in backticks, each within one line.
fn named_commands(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.lines().flat_map(|line| {
        let parts: Vec<&str> = line.split('`').collect();
        let last = parts.len() - 1;
        parts.into_iter().take(last).skip(1)
    });
    // A command whose name is a placeholder cannot be checked.
    let is_command = |span: &&str| {
        let named = span.strip_prefix("mux ").unwrap_or_default();
        !named.is_empty()
            && !named.starts_with(['{', ' '])
            && !named.starts_with("COMMAND ")
            && !named.ends_with(' ')
    };
    spans.filter(is_command)
}

/// The words up to `--`. A placeholder such as `{name}`, `${name}` or `…` is a word or a part of one.
fn words(command: &str) -> Vec<String> {
    let mut text = String::new();
    let mut depth = 0;
    for letter in command.chars() {
        match letter {
            '{' => {
                if depth == 0 {
                    text.push_str(PLACEHOLDER);
                }
                depth += 1;
            }
            '}' => depth -= 1,
            '$' | '\'' | '"' | '\\' => {}
            letter if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    let words = text.split_whitespace().filter(|word| *word != "…");
    words
        .take_while(|word| *word != "--")
        .map(str::to_owned)
        .collect()
}

/// The error in a command, except for missing values and placeholders.
fn mistake(command: &str) -> Option<String> {
    let words = words(command);
    // `mux servers NAME` shows one server, and `mux runs 3` one run.
    if let [_, parent, name] = &words[..]
        && (parent == "servers" && [PLACEHOLDER, "NAME"].contains(&name.as_str())
            || parent == "runs" && name.bytes().all(|c| c.is_ascii_digit()))
    {
        return None;
    }
    let words = words.into_iter().chain(["--help".to_owned()]);
    let parsed = MuxCli::command().try_get_matches_from(words);
    let error = parsed.err()?;
    let is_known = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::InvalidValue => match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(value)) => value == PLACEHOLDER || value.is_empty(),
            _ => true,
        },
        _ => false,
    };
    (!is_known).then(|| error.to_string())
}

#[test]
fn commands_named_in_messages_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources = Vec::new();
    for folder in SOURCE_FOLDERS {
        collect_sources(&root.join(folder), &mut sources);
    }
    let mut count = 0;
    let mut wrong = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        for command in named_commands(&text) {
            count += 1;
            let message =
                mistake(command).map(|it| format!("{}: {command}\n{it}", source.display()));
            wrong.extend(message);
        }
    }
    assert!(count > 300, "{count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_that_do_not_exist_are_found() {
    for wrong in [
        "mux server logs x",
        "mux servers log {name}",
        "mux reload --hard",
    ] {
        assert!(mistake(wrong).is_some(), "{wrong}");
    }
    for right in [
        "mux servers logs ${name}",
        "mux sources add … --replace --auth '{scheme}=…'",
        "mux servers add NAME -- COMMAND ARG…",
    ] {
        assert_eq!(mistake(right), None);
    }
}
