//! `roots`: which directories a server gets when it requests roots.
//!
//! Invariant: directories in a server's entry are never replaced by a caller's.

use std::path::{Path, PathBuf};

use mux_secrets::Secret;

use super::{ProcessServer, ServerEndpoint};
use mux_config::{EntryError, RootsEntry, environment::Environment};

/// Servers that ignore the directories in their arguments if the client supports roots.
const SERVERS_PREFERRING_ROOTS: &[&str] = &[
    "mcp-server-filesystem",
    "@modelcontextprotocol/server-filesystem",
    "server-filesystem",
];

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RootsSetting {
    /// The roots of the client, or the directory in which it works.
    Workspace,
    /// The roots capability is not announced to the server.
    Off,
    These(Vec<PathBuf>),
}

impl RootsSetting {
    pub(super) fn resolve(
        entry: Option<&RootsEntry>,
        endpoint: &ServerEndpoint,
        environment: &Environment,
        home: &Path,
    ) -> Result<Self, EntryError> {
        match entry {
            None => Ok(Self::infer_roots(endpoint)),
            Some(RootsEntry::Workspace) => Ok(Self::Workspace),
            Some(RootsEntry::Off) => Ok(Self::Off),
            Some(RootsEntry::Directories(directories)) => {
                let expand = |text: &String| {
                    let path = environment.expand_path_without_workspace(text);
                    let path = path.map_err(|error| error.in_key("roots"))?;
                    Ok(home.join(path))
                };
                let these: Result<_, EntryError> = directories.iter().map(expand).collect();
                Ok(Self::These(these?))
            }
        }
    }

    fn infer_roots(endpoint: &ServerEndpoint) -> Self {
        match endpoint {
            ServerEndpoint::Process(process) if has_directories(process) => Self::Off,
            _ => Self::Workspace,
        }
    }
}

/// Returns true if the command is one of [`SERVERS_PREFERRING_ROOTS`] with directories among its
/// arguments.
fn has_directories(process: &ProcessServer) -> bool {
    let arguments = process.args.iter().map(Secret::expose);
    let words = std::iter::once(process.command.as_str()).chain(arguments);
    let mut after = words.skip_while(|word| !prefers_roots(word));
    after.next().is_some() && after.any(|word| !word.starts_with('-'))
}

fn prefers_roots(word: &str) -> bool {
    // A package name may end with its version.
    let end = word.char_indices().skip(1).find(|(_, c)| *c == '@');
    let word = end.map_or(word, |(end, _)| &word[..end]);
    let last = word.rsplit(['/', '\\']).next().unwrap_or(word);
    SERVERS_PREFERRING_ROOTS.contains(&word) || SERVERS_PREFERRING_ROOTS.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use mux_config::Config;

    fn roots(entry: &str) -> Result<RootsSetting, String> {
        let config = Config::parse(&format!("[servers.a]\n{entry}"), "c").unwrap();
        let environment = Environment::of([("D".into(), "/d".into())]);
        let settings = Settings::resolve(config, &environment, Path::new("/home/me"));
        let definition = settings.servers["a"].definition.clone();
        definition
            .map(|definition| definition.roots)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn explicit_roots_are_used() {
        for (entry, expected) in [
            ("roots = \"workspace\"", RootsSetting::Workspace),
            ("roots = \"none\"", RootsSetting::Off),
            (
                "roots = [\"${D}/x\", \"notes\"]",
                RootsSetting::These(vec!["/d/x".into(), "/home/me/notes".into()]),
            ),
        ] {
            let found = roots(&format!("command = \"x\"\n{entry}")).unwrap();
            assert_eq!(found, expected, "{entry}");
        }
        let problem = roots("command = \"x\"\nroots = \"all\"").unwrap_err();
        assert!(problem.contains("list of directories"), "{problem}");
    }

    #[test]
    fn roots_are_off_for_servers_with_directory_arguments() {
        for (entry, expected) in [
            (
                "command = \"/bin/mcp-server-filesystem\"\nargs = [\"/n\"]",
                RootsSetting::Off,
            ),
            (
                "command = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-filesystem@2025.8\", \"/n\"]",
                RootsSetting::Off,
            ),
            (
                "command = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-filesystem\"]",
                RootsSetting::Workspace,
            ),
            (
                "command = \"mcp-server-git\"\nargs = [\"/n\"]",
                RootsSetting::Workspace,
            ),
            (
                "url = \"https://h/server-filesystem\"",
                RootsSetting::Workspace,
            ),
        ] {
            assert_eq!(roots(entry).unwrap(), expected, "{entry}");
        }
    }
}
