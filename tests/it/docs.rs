//! The documentation: its links resolve, its commands parse, and its generated parts and pictures are current.

mod config_reference;
mod environment;
mod pictures;
mod prose_rates;
mod quickstart;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use mux_tests::{TestEnv, golden};

const MAX_README_LINES: usize = 150;

const PAGE_FOLDERS: [&str; 6] = [
    "",
    "docs",
    "docs/guides",
    "docs/reference",
    "docs/explain",
    "docs/dev",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Every Markdown page for users and contributors, with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut files: Vec<PathBuf> = PAGE_FOLDERS
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.push(root.join("proto/PROTOCOL.md"));
    files.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    files.into_iter().map(read).collect()
}

/// The lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// The anchor of a heading, as Markdown hosts generate it.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// The targets of the links in a line, except those in inline code.
fn links(line: &str) -> Vec<String> {
    let text: String = line.split('`').step_by(2).collect();
    let mut links = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let end = rest.find(')').unwrap_or(rest.len());
        links.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    links
}

#[test]
fn documentation_links_resolve() {
    let mut broken = Vec::new();
    for (page, text) in pages() {
        for link in prose(&text).flat_map(links) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(file)
            };
            let is_there = match (fs::read_to_string(&target), fragment) {
                (Ok(_), "") => true,
                (Ok(text), fragment) => anchors(&text).contains(fragment),
                // A directory, or a picture.
                (Err(_), fragment) => fragment.is_empty() && target.exists(),
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn files_that_pages_for_builders_name_exist() {
    let root = root();
    let mut missing = Vec::new();
    for (page, text) in pages() {
        for name in text.split('`').skip(1).step_by(2) {
            let (folder, rest) = name.split_once('/').unwrap_or_default();
            let is_path =
                !rest.contains(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c));
            let is_ours = ["client", "daemon", "proto", "sandbox", "tests"].contains(&folder);
            if is_ours && is_path && !root.join(name).exists() {
                missing.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() <= MAX_README_LINES);
}

/// The words of each `mux` command in shell code blocks.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut is_shell = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_shell = language == "sh";
            continue;
        }
        let Some(start) = line.find("mux ").filter(|_| is_shell) else {
            continue;
        };
        // A command is at the start of a line, possibly after environment variables.
        let is_variable = |word: &str| word.contains('=');
        if !line[..start].split_whitespace().all(is_variable) {
            continue;
        }
        let mut command = line[start..].to_owned();
        let words = loop {
            if let Some(words) = split(&command) {
                break words;
            }
            command.push('\n');
            command.push_str(lines.next().expect("a quote is closed"));
        };
        commands.push(words);
    }
    commands
}

/// The words of the first shell command in a text, or `None` while a quote is open or a line is
/// continued.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        quote if quote == letter => break,
                        '\\' if letter == '"' => word.push(letters.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '$' if letters.next_if_eq(&'(').is_some() => {
                // A command substitution is replaced by `1`.
                letters.by_ref().find(|letter| *letter == ')')?;
                word.get_or_insert_default().push('1');
            }
            '\\' => {
                let next = letters.next()?;
                if next != '\n' {
                    word.get_or_insert_default().push(next);
                }
            }
            '|' | '>' | '<' | '&' | ';' => break,
            '#' if word.is_none() => break,
            ' ' | '\t' | '\n' => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

#[test]
fn documentation_commands_parse() {
    let env = TestEnv::new();
    let mut count = 0;
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        for command in commands(&text) {
            // The words after `--` are the command line of a server.
            let own = command.iter().skip(1).take_while(|word| *word != "--");
            let args: Vec<&str> = own.map(String::as_str).chain(["--help"]).collect();
            let output = env.mux(&args);
            count += 1;
            if output.code != 0 {
                let page = page.display();
                wrong.push(format!("{page}: {}\n{}", command.join(" "), output.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} commands were found");
}

#[test]
fn command_reference_is_current() {
    let env = TestEnv::new();
    let mut text = String::from(
        "# Commands\n\n\
         Generated from the help of `mux`; `UPDATE_GOLDEN=1 cargo nextest run --workspace -E 'test(docs::)'` writes \
         it anew.\n",
    );
    describe(&env, &[], &mut text);
    golden::compare(&root().join("docs/reference/cli.md"), &text).unwrap();
}

/// Appends the help of a command and of its subcommands.
fn describe(env: &TestEnv, path: &[&str], text: &mut String) {
    let args: Vec<&str> = match path {
        [] => vec!["help", "--all"],
        path => path.iter().copied().chain(["--help"]).collect(),
    };
    let help = env.mux(&args).ok().stdout;
    let name = ["mux"].iter().chain(path).copied().collect::<Vec<_>>();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(
        text,
        "\n## {}\n\n```text\n{}\n```\n",
        name.join(" "),
        help.join("\n").trim_end()
    )
    .unwrap();
    let below = help.iter().skip_while(|line| **line != "Commands:").skip(1);
    for line in below.take_while(|line| !line.is_empty()) {
        // Continued descriptions are indented further.
        let Some(name) = line
            .strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
        else {
            continue;
        };
        let name = name.split_whitespace().next().unwrap();
        if name != "help" {
            let path: Vec<&str> = path.iter().copied().chain([name]).collect();
            describe(env, &path, text);
        }
    }
}
