//! Finds names that imitate others.
//!
//! Names are compared by their skeletons (Unicode Technical Standard 39), without case and separators. That two servers
//! have a `search`, or one a `read_file` and the other a `readFile`, is not an imitation: their paths distinguish them.
//! A name that reads the same but needs other letters is an imitation, and so is a tool named like the agents' name of
//! another server's tool.
//!
//! Invariant: nothing is refused because of its name. Findings are only reported to the user.

use std::{collections::HashMap, fmt::Write as _};

use unicode_security::skeleton;

use super::{ToolSet, type_declarations::KnownServer};
use mux_text::sanitize::is_unseen;

/// The maximum number of findings for one server.
const MAX_LOOKALIKES_PER_SERVER: usize = 20;

/// The findings for each server, by its name.
pub fn imitations(servers: &[KnownServer]) -> Vec<(String, Vec<String>)> {
    let pool = LookalikeIndex::of(servers);
    let found = servers.iter().map(|server| {
        let mut warnings = pool.of_server(&server.name);
        let tools = server.tools.iter().flat_map(|tools| tools.looks());
        for look in tools {
            if warnings.len() == MAX_LOOKALIKES_PER_SERVER {
                break;
            }
            warnings.extend(pool.of_tool(&server.name, look));
        }
        (server.name.clone(), warnings)
    });
    found.filter(|(_, warnings)| !warnings.is_empty()).collect()
}

/// A tool's name, prepared for comparison.
#[derive(Clone, Debug)]
pub(super) struct NameSkeleton {
    name: String,
    /// The name without case and separators.
    plain: String,
    /// The skeleton of `plain`.
    skeleton: String,
}

impl NameSkeleton {
    pub(super) fn of(name: &str) -> Self {
        let plain = plain(name);
        Self {
            skeleton: look(&plain),
            plain,
            name: name.to_owned(),
        }
    }
}

struct LookalikeIndex<'a> {
    /// Server names by skeleton.
    servers: HashMap<String, Vec<&'a str>>,
    /// Tools by skeleton, with the server of each.
    tools: HashMap<&'a str, Vec<(&'a str, &'a NameSkeleton)>>,
    /// Tools by the joined skeletons of server and tool.
    paths: HashMap<String, (&'a str, &'a NameSkeleton)>,
}

impl<'a> LookalikeIndex<'a> {
    fn of(servers: &'a [KnownServer]) -> Self {
        let mut names: HashMap<_, Vec<_>> = HashMap::new();
        let mut tools: HashMap<_, Vec<_>> = HashMap::new();
        let mut paths = HashMap::new();
        for server in servers {
            let skeleton = look(&plain(&server.name));
            let alike = names.entry(skeleton.clone()).or_default();
            alike.push(server.name.as_str());
            for tool in server.tools.iter().flat_map(|tools| tools.looks()) {
                let alike = tools.entry(tool.skeleton.as_str()).or_default();
                alike.push((server.name.as_str(), tool));
                let path = format!("{skeleton}{}", tool.skeleton);
                paths.entry(path).or_insert((server.name.as_str(), tool));
            }
        }
        Self {
            servers: names,
            tools,
            paths,
        }
    }

    fn of_server(&self, name: &str) -> Vec<String> {
        let alike = self.servers.get(&look(&plain(name)));
        alike
            .into_iter()
            .flatten()
            .filter(|other| **other != name)
            .map(|other| format!("the server `{name}` looks like `{other}`"))
            .collect()
    }

    fn of_tool(&self, server: &str, tool: &NameSkeleton) -> Option<String> {
        let shown = visible(&tool.name);
        let alike = self.tools.get(tool.skeleton.as_str()).into_iter().flatten();
        let alike = alike.filter(|(_, other)| other.plain != tool.plain || has_unseen(&tool.name));
        let alike = alike.filter(|(of, other)| *of != server || other.name != tool.name);
        // The name with ordinary letters is the imitated one.
        if let Some((of, other)) = alike.into_iter().next()
            && (other.name.is_ascii() || !tool.name.is_ascii())
        {
            let other = visible(&other.name);
            return Some(format!("`{server}.{shown}` looks like `{of}.{other}`"));
        }
        let (of, other) = self.paths.get(&tool.skeleton)?;
        let other = visible(&other.name);
        (*of != server)
            .then(|| format!("`{server}.{shown}` has the name by which agents see `{of}.{other}`"))
    }
}

impl ToolSet {
    fn looks(&self) -> impl Iterator<Item = &NameSkeleton> {
        self.iter().map(|tool| tool.name_skeleton())
    }
}

/// The name without case and separators.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| !is_separator(*c) && !is_unseen(*c));
    kept.flat_map(char::to_lowercase).collect()
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '-' | '_' | '.' | '/' | ':')
}

/// The skeleton of a name, ignoring case.
fn look(plain: &str) -> String {
    let skeleton: String = skeleton(plain).flat_map(char::to_lowercase).collect();
    // Lowercase letters may have other skeletons.
    skeleton_again(&skeleton)
}

fn skeleton_again(text: &str) -> String {
    skeleton(text).filter(|c| !is_separator(*c)).collect()
}

fn has_unseen(name: &str) -> bool {
    name.contains(is_unseen)
}

/// A name with invisible characters escaped and lookalike letters annotated.
pub(super) fn visible(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            unseen if is_unseen(unseen) || unseen.is_whitespace() => {
                shown.extend(unseen.escape_unicode());
            }
            ascii if ascii.is_ascii() => shown.push(ascii),
            other => {
                shown.push(other);
                _ = write!(shown, "(U+{:04X})", u32::from(other));
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use mux_settings::ToolOverrides;

    use super::*;
    use crate::ToolDescription;

    fn server(name: &str, tools: &[&str]) -> KnownServer {
        let described = tools.iter().map(|name| ToolDescription {
            name: (*name).to_owned(),
            input_schema: json!({ "type": "object" }).into(),
            ..ToolDescription::default()
        });
        KnownServer {
            name: name.into(),
            tools: Some(Arc::new(ToolSet::new(
                name,
                described.collect(),
                &[],
                &ToolOverrides::default(),
            ))),
            note: None,
        }
    }

    #[test]
    fn imitated_tool_names_are_reported() {
        for (name, warned) in [
            // Another server's tool, with a lookalike letter.
            ("cre\u{430}te_issue", true),
            ("сreate_issue", true),
            ("create\u{200b}_issue", true),
            ("create_\u{2170}ssue", true),
            ("create_lssue", false),
            ("Create_Issue", false),
            ("createIssue", false),
            ("create-issue", false),
            ("create_issue", false),
            // The path as agents and programs see it.
            ("github__create_issue", true),
            ("github.create_issue", true),
            ("github_create_issue", true),
            ("GitHub-Create-Issue", true),
            ("g\u{456}thub_create_issue", true),
            ("github_delete_issue", false),
            ("too1s", true),
            ("tools", false),
        ] {
            let servers = [
                server("github", &["create_issue", "tools"]),
                server("evil", &[name]),
            ];
            let found = imitations(&servers);
            let of_evil = found.iter().find(|(server, _)| server == "evil");
            assert_eq!(of_evil.is_some(), warned, "{name}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|(server, _)| server == "evil" || name == "too1s"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn server_names_and_tools_of_one_server_are_compared() {
        let found = imitations(&[
            server("github", &[]),
            server("Git-Hub", &[]),
            server("gitlab", &[]),
        ]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["github", "Git-Hub"]);
        let found = imitations(&[server("a", &["delete", "d\u{435}lete"])]);
        assert_eq!(
            found[0].1,
            ["`a.d\u{435}(U+0435)lete` looks like `a.delete`"]
        );
        assert!(imitations(&[server("a", &["a_b", "b"]), server("b", &["a_b"])]).len() == 1);
    }
}
