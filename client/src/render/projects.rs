//! Projects, with the complete content of their files for the user's review.
//!
//! Invariant: content to be approved is not truncated or masked, and all characters are visible.

use std::{fmt::Write as _, path::Path};

use super::terminal::{eprintln, is_unsafe_char, print, println, report};
use mux_proto::{ProjectFile, ProjectInfo, ProjectRevoked, ProjectState};

use super::{
    display_path,
    human_units::count_text,
    style::{DIM, GOOD, NAME, STRONG, WARN, paint},
    warn,
};
use crate::agents::unmasked_diff;

/// The number of digits of a digest that identify it.
const APPROVAL_DIGEST_DIGITS: usize = 32;

pub(crate) fn projects(projects: &[ProjectInfo]) {
    if projects.is_empty() {
        eprintln!(
            "no project is approved, and no client is working in a project with .mux.toml or .mcp.json"
        );
    }
    for project in projects {
        let servers = count_text(project.servers.len(), "server");
        let root = escape_all(&display_path(&project.root));
        println!(
            "{root}  {}  {servers}{}",
            state(project.state),
            denials_text(project)
        );
    }
}

/// Prints everything that an approval covers.
pub(crate) fn project(project: &ProjectInfo) {
    print!("{}", project_listing(project));
}

pub(crate) fn approved(project: &ProjectInfo) {
    let servers = count_text(project.servers.len(), "server");
    let root = escape_all(&display_path(&project.root));
    report!("approved: {servers} for clients in {root}");
    for problem in &project.problems {
        warn(escape_all(problem));
    }
}

pub(crate) fn revoked(root: &Path, revoked: &ProjectRevoked) {
    let shown = escape_all(&display_path(root));
    if revoked.was_approved {
        report!("revoked: {shown}");
    } else {
        report!("{shown} was not approved");
    }
}

/// The number of deny rules, and of those from the approved version.
fn denials_text(project: &ProjectInfo) -> String {
    let now = project.denied.len();
    let still = project.still_denied.len();
    match (now, still) {
        (0, 0) => String::new(),
        (now, 0) => format!(", denies {}", count_text(now, "path")),
        (0, still) => format!(
            ", denies {} by its approved version",
            count_text(still, "path")
        ),
        (now, still) => format!(
            ", denies {}, and {still} by its approved version",
            count_text(now, "path")
        ),
    }
}

fn project_listing(project: &ProjectInfo) -> String {
    let mut text = String::new();
    let root = escape_all(&display_path(&project.root));
    // Writing to a string cannot fail.
    let mut line = |line: String| _ = writeln!(text, "{line}");
    line(format!("{}  {}", paint(STRONG, root), state(project.state)));
    for server in &project.servers {
        let file = paint(DIM, &server.file);
        let name = paint(NAME, escape_all(&server.name));
        line(format!("\n  {name}  {file}"));
        if !server.command.is_empty() {
            line(format!("    runs     {}", escape_all(&server.command)));
        }
        for command in &server.commands {
            line(format!("    and runs {}", escape_all(command)));
        }
        for (what, names) in [("env", &server.env), ("headers", &server.headers)] {
            if !names.is_empty() {
                line(format!("    {what:8} {}", escape_all(&names.join(", "))));
            }
        }
        if let Some(problem) = &server.problem {
            line(format!("    {}", paint(WARN, escape_all(problem))));
        }
    }
    let approved = project.state == ProjectState::Approved;
    let now = if approved { "" } else { "  (approved or not)" };
    for rule in &project.denied {
        line(format!(
            "\n  denies {}{}",
            escape_all(rule),
            paint(DIM, now)
        ));
    }
    for rule in &project.still_denied {
        let until = "(by the version you approved, until `mux project revoke`)";
        line(format!(
            "\n  denies {}  {}",
            escape_all(rule),
            paint(DIM, until)
        ));
    }
    for problem in &project.problems {
        line(format!("\n  {}", paint(WARN, escape_all(problem))));
    }
    for file in &project.files {
        if let Some(change) = file_diff(file, project.state) {
            line(format!("\n{}", change.trim_end()));
        }
    }
    match (&project.digest, project.state) {
        (_, ProjectState::Approved) => {}
        (Some(digest), _) => {
            let short = digest.get(..APPROVAL_DIGEST_DIGITS).unwrap_or(digest);
            line(format!(
                "\ndigest {digest}\nto approve exactly this: mux project approve --hash {short} {}",
                escape_all(&display_path(&project.root))
            ));
        }
        (None, ProjectState::Gone) => {
            line("\nits files are gone; `mux project revoke` removes the approval".into());
        }
        (None, _) => line("\nit cannot be approved: a file cannot be read".into()),
    }
    text
}

/// The diff of a file against the approved version, or the whole file.
fn file_diff(file: &ProjectFile, state: ProjectState) -> Option<String> {
    if state == ProjectState::Approved {
        return None;
    }
    let before = file.approved.as_deref().unwrap_or_default();
    let now = file.text.as_deref().unwrap_or_default();
    let diff = unmasked_diff(before, now, &file.name);
    let lines = diff.lines().map(escape_all);
    (!diff.is_empty()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn state(state: ProjectState) -> String {
    match state {
        ProjectState::New => paint(WARN, "not approved"),
        ProjectState::Changed => paint(WARN, "changed since it was approved"),
        ProjectState::Approved => paint(GOOD, "approved"),
        ProjectState::Gone => paint(DIM, "approved, but its files are gone"),
    }
}

/// Escapes control and invisible characters, which could hide other text.
fn escape_all(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || is_unsafe_char(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(escape_all("a\u{1b}[2K\rb"), "a\\u{1b}[2K\\u{d}b");
        assert_eq!(escape_all("rm \u{202e}txt"), "rm \\u{202e}txt");
        assert_eq!(escape_all("größe\t検索"), "größe\t検索");
    }

    #[test]
    fn changed_file_is_shown_as_a_diff() {
        let file = ProjectFile {
            name: ".mcp.json".into(),
            text: Some("one\n\"token\": \"sk-0123456789abcdef\"\nthree\n".into()),
            approved: Some("one\ntwo\nthree\n".into()),
        };
        let shown = file_diff(&file, ProjectState::Changed).unwrap();
        assert!(
            shown.contains("-two\n+\"token\": \"sk-0123456789abcdef\"\n"),
            "{shown}"
        );
        assert_eq!(file_diff(&file, ProjectState::Approved), None);
    }
}
