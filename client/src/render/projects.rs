//! Projects: what their files define, whole, so that somebody can judge it.
//!
//! Invariant: nothing of what is to be approved is cut, masked, or written so that a terminal hides it.

use std::{fmt::Write as _, process::ExitCode};

use super::terminal::{acts, eprintln, print, println};
use mux_proto::{ProjectFile, ProjectInfo, ProjectState};
use serde_json::json;

use super::{
    amounts::count,
    document, shown,
    style::{DIM, GOOD, NAME, STRONG, WARN, paint},
    warn,
};
use crate::agents::unified_whole;

/// So much of a digest names it for a person.
const DIGITS: usize = 32;

pub(crate) fn projects(projects: &[ProjectInfo], json: bool) -> ExitCode {
    if json {
        document(&projects);
        return ExitCode::SUCCESS;
    }
    if projects.is_empty() {
        eprintln!(
            "no project is approved, and nobody works in one that has .mux.toml or .mcp.json"
        );
    }
    for project in projects {
        let servers = count(project.servers.len(), "server");
        let root = plainly(&shown(&project.root));
        println!(
            "{root}  {}  {servers}{}",
            state(project.state),
            denials(project)
        );
    }
    ExitCode::SUCCESS
}

/// Everything that an approval would be of.
pub(crate) fn project(project: &ProjectInfo, json: bool) -> ExitCode {
    if json {
        document(project);
    } else {
        print!("{}", described(project));
    }
    ExitCode::SUCCESS
}

pub(crate) fn approved(project: &ProjectInfo, json: bool) -> ExitCode {
    if json {
        document(project);
    } else {
        let servers = count(project.servers.len(), "server");
        let root = plainly(&shown(&project.root));
        println!("approved: {servers} for those who work in {root}");
        for problem in &project.problems {
            warn(plainly(problem));
        }
    }
    ExitCode::SUCCESS
}

pub(crate) fn revoked(root: &std::path::Path, was_approved: bool, json: bool) -> ExitCode {
    let shown = plainly(&shown(root));
    match (json, was_approved) {
        (true, _) => document(&json!({ "root": root, "was_approved": was_approved })),
        (false, true) => println!("revoked: {shown}"),
        (false, false) => println!("{shown} was not approved"),
    }
    ExitCode::SUCCESS
}

/// How many rules deny, and those by the text that was approved.
fn denials(project: &ProjectInfo) -> String {
    let (now, still) = (project.denied.len(), project.still_denied.len());
    match (now, still) {
        (0, 0) => String::new(),
        (now, 0) => format!(", denies {}", count(now, "path")),
        (0, still) => format!(", denies {} by its approved text", count(still, "path")),
        (now, still) => format!(
            ", denies {}, and {still} by its approved text",
            count(now, "path")
        ),
    }
}

fn described(project: &ProjectInfo) -> String {
    let mut text = String::new();
    let root = plainly(&shown(&project.root));
    // Writing to a string cannot fail.
    let mut line = |line: String| _ = writeln!(text, "{line}");
    line(format!("{}  {}", paint(STRONG, root), state(project.state)));
    for server in &project.servers {
        let file = paint(DIM, &server.file);
        let name = paint(NAME, plainly(&server.name));
        line(format!("\n  {name}  {file}"));
        if !server.command.is_empty() {
            line(format!("    runs     {}", plainly(&server.command)));
        }
        for command in &server.commands {
            line(format!("    and runs {}", plainly(command)));
        }
        for (what, names) in [("env", &server.env), ("headers", &server.headers)] {
            if !names.is_empty() {
                line(format!("    {what:8} {}", plainly(&names.join(", "))));
            }
        }
        if let Some(problem) = &server.problem {
            line(format!("    {}", paint(WARN, plainly(problem))));
        }
    }
    let approved = project.state == ProjectState::Approved;
    let now = if approved { "" } else { "  (approved or not)" };
    for rule in &project.denied {
        line(format!("\n  denies {}{}", plainly(rule), paint(DIM, now)));
    }
    for rule in &project.still_denied {
        let until = "(by the text that you approved, until `mux project revoke`)";
        line(format!(
            "\n  denies {}  {}",
            plainly(rule),
            paint(DIM, until)
        ));
    }
    for problem in &project.problems {
        line(format!("\n  {}", paint(WARN, plainly(problem))));
    }
    for file in &project.files {
        if let Some(change) = change(file, project.state) {
            line(format!("\n{}", change.trim_end()));
        }
    }
    match (&project.digest, project.state) {
        (_, ProjectState::Approved) => {}
        (Some(digest), _) => {
            let short = digest.get(..DIGITS).unwrap_or(digest);
            line(format!(
                "\ndigest {digest}\nto approve just this: mux project approve --hash {short} {}",
                plainly(&shown(&project.root))
            ));
        }
        (None, ProjectState::Gone) => {
            line("\nits files are gone; `mux project revoke` forgets it".into())
        }
        (None, _) => line("\nit cannot be approved: a file cannot be read".into()),
    }
    text
}

/// The file as a difference from what was approved, or whole.
fn change(file: &ProjectFile, state: ProjectState) -> Option<String> {
    if state == ProjectState::Approved {
        return None;
    }
    let before = file.approved.as_deref().unwrap_or_default();
    let now = file.text.as_deref().unwrap_or_default();
    let diff = unified_whole(before, now, &file.name);
    let lines = diff.lines().map(plainly);
    (!diff.is_empty()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn state(state: ProjectState) -> String {
    match state {
        ProjectState::New => paint(WARN, "not approved"),
        ProjectState::Changed => paint(WARN, "changed since it was approved"),
        ProjectState::Approved => paint(GOOD, "approved"),
        ProjectState::Gone => paint(DIM, "approved, and its files are gone"),
    }
}

/// With every character to be seen: neither a control sequence nor one that turns the direction of writing
/// may hide what stands beside it.
fn plainly(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c == '\n' || acts(c) {
            true => plain.extend(c.escape_unicode()),
            false => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_file_can_hide() {
        assert_eq!(plainly("a\u{1b}[2K\rb"), "a\\u{1b}[2K\\u{d}b");
        assert_eq!(plainly("rm \u{202e}txt"), "rm \\u{202e}txt");
        assert_eq!(plainly("größe\t検索"), "größe\t検索");
    }

    #[test]
    fn a_changed_file_is_shown_by_its_difference() {
        let file = ProjectFile {
            name: ".mcp.json".into(),
            text: Some("one\n\"token\": \"sk-0123456789abcdef\"\nthree\n".into()),
            approved: Some("one\ntwo\nthree\n".into()),
        };
        let shown = change(&file, ProjectState::Changed).unwrap();
        assert!(
            shown.contains("-two\n+\"token\": \"sk-0123456789abcdef\"\n"),
            "{shown}"
        );
        assert_eq!(change(&file, ProjectState::Approved), None);
    }
}
