//! Sandboxes for well-known servers, which `mux servers add` and `mux import` propose.
//!
//! Invariant: a proposal is never applied unless the user asks for it, and it never grants the whole home directory.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use serde_json::{Map, Value, json};

use crate::{
    agents::AgentPaths,
    fetched_package::{FetchedPackage, PackageRunner},
};

/// A server's command, with its strings as in config.toml.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerCommand<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
}

/// The needs of a well-known server.
#[derive(Clone, Copy, Debug)]
enum KnownServer {
    /// The directories that its arguments name.
    Filesystem,
    /// The directory of `MEMORY_FILE_PATH`, or of its package.
    Memory,
    /// The repository that `--repository` names, and the user's name for commits.
    Git,
    /// Any address.
    Fetch,
    /// No access to the user's files.
    Nothing,
}

/// The servers by package and by program. Of each, the tests run a session in the proposed sandbox, except of `fetch`.
const KNOWN_SERVERS: &[(&str, &str, KnownServer)] = &[
    (
        "@modelcontextprotocol/server-filesystem",
        "mcp-server-filesystem",
        KnownServer::Filesystem,
    ),
    (
        "@modelcontextprotocol/server-memory",
        "mcp-server-memory",
        KnownServer::Memory,
    ),
    (
        "@modelcontextprotocol/server-sequential-thinking",
        "mcp-server-sequential-thinking",
        KnownServer::Nothing,
    ),
    (
        "@modelcontextprotocol/server-everything",
        "mcp-server-everything",
        KnownServer::Nothing,
    ),
    ("mcp-server-git", "mcp-server-git", KnownServer::Git),
    ("mcp-server-time", "mcp-server-time", KnownServer::Nothing),
    ("mcp-server-fetch", "mcp-server-fetch", KnownServer::Fetch),
];

/// Variables by which a runner uses another registry than the public one.
const REGISTRY_VARIABLES: &[&str] = &[
    "npm_config_registry",
    "NPM_CONFIG_REGISTRY",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
];

/// The value of `sandbox` for a server that is known, if one fits its arguments. Lists of hosts are enforced on Linux
/// only.
pub(crate) fn propose_sandbox(
    server: ServerCommand<'_>,
    places: &AgentPaths,
) -> Option<Map<String, Value>> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let fetched = FetchedPackage::of(server.command, server.args);
    let program = Path::new(server.command).file_name()?.to_str()?;
    let mut known = KNOWN_SERVERS.iter();
    let (_, _, known) = known.find(|(package, name, _)| match &fetched {
        Some(fetched) => fetched.runner.package_name(fetched.package) == *package,
        None => program == *name,
    })?;
    let arguments = match &fetched {
        Some(fetched) => fetched.arguments?,
        None => server.args,
    };
    let mut entry = Map::new();
    let mut network = match fetched.map(|fetched| fetched.runner) {
        Some(_)
            if REGISTRY_VARIABLES
                .iter()
                .any(|name| server.env.contains_key(*name)) =>
        {
            return None;
        }
        Some(PackageRunner::Npx) => json!(["registry.npmjs.org"]),
        Some(PackageRunner::Uvx) => json!(["pypi.org", "files.pythonhosted.org"]),
        None => json!("none"),
    };
    match known {
        KnownServer::Filesystem => {
            let folders: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if folders.is_empty() || !folders.iter().all(|folder| is_grantable(folder, places)) {
                return None;
            }
            entry.insert("write".into(), json!(folders));
        }
        KnownServer::Memory => match server.env.get("MEMORY_FILE_PATH") {
            Some(file) => {
                let folder = Path::new(file).parent()?.to_str()?;
                if !is_grantable(folder, places) {
                    return None;
                }
                entry.insert("write".into(), json!([folder]));
            }
            // The server writes beside its program, which a sandbox allows only in a private cache.
            None => drop(fetched?),
        },
        KnownServer::Git => {
            let repository = match arguments {
                [option, folder] if option == "--repository" || option == "-r" => folder,
                _ => return None,
            };
            if !is_grantable(repository, places) {
                return None;
            }
            entry.insert("write".into(), json!([repository]));
            if places.expand_tilde("~/.gitconfig").is_file() {
                entry.insert("read".into(), json!(["~/.gitconfig"]));
            }
        }
        KnownServer::Fetch => network = json!("any"),
        KnownServer::Nothing => {}
    }
    entry.insert("network".into(), network);
    Some(entry)
}

/// Returns true for an absolute directory that can be granted: not the home directory or one above it, nor a path that
/// contains a variable.
fn is_grantable(folder: &str, places: &AgentPaths) -> bool {
    let path = places.expand_tilde(folder);
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    let home = places.expand_tilde("~");
    !folder.contains('$')
        && path.is_absolute()
        && path.components().all(is_plain)
        && path.is_dir()
        && !home.starts_with(&path)
}

/// The command that writes a proposal into the entry of a server.
pub(crate) fn proposal_command(server: &str, entry: &Map<String, Value>) -> String {
    let value = crate::render::inline_table(entry);
    let value = shlex::try_quote(&value).map_or_else(|_| value.clone(), std::convert::Into::into);
    format!("mux config set servers.{server}.sandbox {value}")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::agents::OperatingSystem;

    fn proposed(places: &AgentPaths, line: &str, env: &[(&str, &str)]) -> Option<String> {
        let mut words = line.split_whitespace().map(str::to_owned);
        let command = words.next().unwrap();
        let args: Vec<String> = words.collect();
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let server = ServerCommand {
            command: &command,
            args: &args,
            env: &env,
        };
        propose_sandbox(server, places).map(|entry| Value::Object(entry).to_string())
    }

    #[test]
    fn proposal_grants_what_the_arguments_name_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(at("notes")).unwrap();
        let variable = |name: &str| (name == "HOME").then(|| home.path().to_owned());
        let places = AgentPaths::new(OperatingSystem::Linux, variable).unwrap();
        let npm = r#""network":["registry.npmjs.org"]"#;
        let pypi = r#""network":["pypi.org","files.pythonhosted.org"]"#;
        let filesystem = "npx -y @modelcontextprotocol/server-filesystem@2025.8.21";
        let notes = at("notes");
        for (line, expected) in [
            (
                format!("{filesystem} ~/notes"),
                format!(r#"{{"write":["~/notes"],{npm}}}"#),
            ),
            (
                format!("/opt/bin/mcp-server-filesystem {notes}"),
                format!(r#"{{"write":["{notes}"],"network":"none"}}"#),
            ),
            (
                "npx -y @modelcontextprotocol/server-memory".into(),
                format!("{{{npm}}}"),
            ),
            (
                "uvx mcp-server-time --local-timezone=Europe/Berlin".into(),
                format!("{{{pypi}}}"),
            ),
            (
                "uvx mcp-server-git@2025.1.1 --repository ~/notes".into(),
                format!(r#"{{"write":["~/notes"],{pypi}}}"#),
            ),
            (
                "uvx mcp-server-fetch".into(),
                r#"{"network":"any"}"#.to_owned(),
            ),
        ] {
            assert_eq!(proposed(&places, &line, &[]), Some(expected), "{line}");
        }
        for line in [
            "npx -y @modelcontextprotocol/server-filesystem",
            "npx -y @modelcontextprotocol/server-filesystem ~",
            "npx -y @modelcontextprotocol/server-filesystem /",
            "npx -y @modelcontextprotocol/server-filesystem ~/notes notes",
            "npx -y @modelcontextprotocol/server-filesystem ~/notes/../..",
            "npx -y @modelcontextprotocol/server-filesystem ~/missing",
            "npx -y @modelcontextprotocol/server-filesystem ${DIR}",
            "npx -y --package @modelcontextprotocol/server-filesystem other ~/notes",
            "npx -y server-filesystem ~/notes",
            "mcp-server-memory",
            "uvx mcp-server-git",
            "docker run -i mcp/time",
            "mcp-server-of-mine",
        ] {
            assert_eq!(proposed(&places, line, &[]), None, "{line}");
        }
        let graph = [("MEMORY_FILE_PATH", "~/notes/graph.json")];
        assert_eq!(
            proposed(&places, "mcp-server-memory", &graph),
            Some(r#"{"write":["~/notes"],"network":"none"}"#.into())
        );
        let registry = [("UV_DEFAULT_INDEX", "https://pypi.example/simple")];
        assert_eq!(proposed(&places, "uvx mcp-server-time", &registry), None);
    }

    #[test]
    fn proposed_command_is_one_word_for_a_shell() {
        let entry = json!({ "write": ["/home/me/it's here"], "network": "none" });
        let command = proposal_command("files", entry.as_object().unwrap());
        let words = shlex::split(&command).unwrap();
        assert_eq!(
            words,
            [
                "mux",
                "config",
                "set",
                "servers.files.sandbox",
                r#"{ write = ["/home/me/it's here"], network = "none" }"#
            ]
        );
    }
}
