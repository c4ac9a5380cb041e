//! Parses the files of a project. No I/O.
//!
//! Invariant: a project adds servers and denies tools. Anything else in its files has no effect and is reported.

use std::collections::BTreeMap;

use toml::Table;

use super::{mcp_json, project_files::ProjectFiles};
use mux_config::{Config, PolicyEntry, ServerEntry};

/// One server of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinedServer {
    /// The file that defines it.
    pub file: &'static str,
    pub entry: Result<ServerEntry, String>,
}

/// The content of a project's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectContent {
    pub servers: BTreeMap<String, DefinedServer>,
    /// The calls that are denied to clients that work in the project.
    pub denied: Vec<PolicyEntry>,
    pub problems: Vec<String>,
}

impl ProjectContent {
    pub fn of(files: &ProjectFiles) -> Self {
        let mut content = Self::default();
        for (name, text) in &files.files {
            let read = text.clone().and_then(|text| match *name {
                ".mcp.json" => content.take_mcp_json(name, &text),
                _ => content.take_toml(name, &text),
            });
            if let Err(problem) = read {
                content.problems.push(format!("{name}: {problem}"));
            }
        }
        content
    }

    fn take_toml(&mut self, file: &'static str, text: &str) -> Result<(), String> {
        let mut table: Table =
            toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
        let mut allowed = Table::new();
        for key in ["servers", "policy"] {
            if let Some(value) = table.remove(key) {
                allowed.insert(key.into(), value);
            }
        }
        for key in table.keys() {
            self.problems.push(format!(
                "{file}: `{key}` is ignored: a project may only define [servers] and deny by [[policy]]"
            ));
        }
        let config = Config::of(allowed)?;
        for rule in config.policy {
            match rule.action.as_str() {
                "allow" | "ask" => self.problems.push(format!(
                    "{file}: the policy \"{}\" is ignored: a project may deny, and not {}",
                    rule.path_globs().join("\", \""),
                    rule.action
                )),
                // An unknown action also denies.
                _ => self.denied.push(rule),
            }
        }
        self.take(file, config.servers);
        Ok(())
    }

    fn take_mcp_json(&mut self, file: &'static str, text: &str) -> Result<(), String> {
        let (servers, notes) = mcp_json::read_mcp_json(text)?;
        let notes = notes.into_iter().map(|note| format!("{file}: {note}"));
        self.problems.extend(notes);
        self.take(file, servers);
        Ok(())
    }

    fn take(&mut self, file: &'static str, servers: BTreeMap<String, Result<ServerEntry, String>>) {
        for (name, entry) in servers {
            if let Some(first) = self.servers.get(&name) {
                self.problems.push(format!(
                    "`{name}` of {file} is ignored: {} also defines it",
                    first.file
                ));
                continue;
            }
            self.servers.insert(name, DefinedServer { file, entry });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(files: &[(&'static str, &str)]) -> ProjectContent {
        let files = files.iter();
        ProjectContent::of(&ProjectFiles {
            files: files
                .map(|(name, text)| (*name, Ok((*text).to_owned())))
                .collect(),
        })
    }

    #[test]
    fn project_only_adds_servers_and_denials() {
        let found = content(&[
            (
                ".mux.toml",
                "[servers.db]\ncommand = \"x\"\n[[policy]]\nmatch = \"git.push\"\naction = \"deny\"\n\
                 [[policy]]\nmatch = \"*\"\naction = \"allow\"\n[limits]\nwall = \"300s\"\n[daemon]\n",
            ),
            (
                ".mcp.json",
                r#"{"mcpServers": {"db": {"command": "y"}, "web": {"command": "w"}}}"#,
            ),
        ]);
        let names: Vec<_> = found
            .servers
            .iter()
            .map(|(n, d)| (n.as_str(), d.file))
            .collect();
        assert_eq!(names, [("db", ".mux.toml"), ("web", ".mcp.json")]);
        let denied = found.denied.iter().map(PolicyEntry::path_globs);
        assert_eq!(denied.collect::<Vec<_>>(), [["git.push"]]);
        for part in ["`limits`", "`daemon`", "not allow", "`db` of .mcp.json"] {
            let is_reported = found.problems.iter().any(|problem| problem.contains(part));
            assert!(is_reported, "{part}: {:?}", found.problems);
        }
        assert_eq!(found.problems.len(), 4);
    }

    #[test]
    fn unparsable_file_loses_only_its_own_servers() {
        let found = content(&[
            (".mux.toml", "[servers"),
            (".mcp.json", r#"{"mcpServers": {"web": {"command": "w"}}}"#),
        ]);
        assert_eq!(found.servers.len(), 1);
        assert!(found.problems[0].starts_with(".mux.toml: "), "{found:?}");
    }
}
