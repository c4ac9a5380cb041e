//! Checks config.toml without a daemon: whether it is valid TOML, and whether the programs that it names exist.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use mux_proto::{ServerState, Status, endpoint::Dirs};
use serde_json::Value;

use super::CheckGroup;
use crate::{
    agents::{ConfigDocument, ConfigDocumentError, ConfigFormat},
    found_program::is_executable,
};

/// A server in config.toml that has a command.
#[derive(Debug, PartialEq)]
pub(in crate::commands) struct ConfiguredProcess {
    pub(in crate::commands) name: String,
    pub(in crate::commands) command: String,
    pub(in crate::commands) args: Vec<String>,
}

/// The servers in config.toml that have a command; none if the file cannot be read.
pub(in crate::commands) fn read_configured_processes(dirs: &Dirs) -> Vec<ConfiguredProcess> {
    let text = std::fs::read_to_string(dirs.config_file()).unwrap_or_default();
    ConfigDocument::parse(text.as_bytes(), ConfigFormat::Toml)
        .map_or_else(|_| Vec::new(), |config| configured_processes(&config))
}

/// `path` is the `PATH` of the user's shell.
pub(super) fn check_config_file(
    group: &mut CheckGroup,
    dirs: &Dirs,
    status: Option<&Status>,
    path: Option<&OsStr>,
) {
    let file = dirs.config_file();
    let shown = file.display();
    let Ok(text) = std::fs::read_to_string(&file) else {
        // `places` reports a missing or unreadable file.
        return;
    };
    let config = match ConfigDocument::parse(text.as_bytes(), ConfigFormat::Toml) {
        Ok(config) => config,
        Err(ConfigDocumentError::Syntax { line, message, .. }) if status.is_none() => {
            group.fail(
                format!("{shown} is not valid TOML, line {line}: {message}"),
                "fix that line; until then muxd uses the last valid version of the file, if any",
            );
            return;
        }
        Err(_) => return,
    };
    let working = servers_known_to_daemon(status);
    let processes = configured_processes(&config);
    for ConfiguredProcess { name, command, .. } in &processes {
        if working.contains(name.as_str()) {
            continue;
        }
        if let Some(missing) = missing_command(command, path) {
            group.warn(
                format!("[servers.{name}]: {missing}"),
                format!("install it, or write its full path as `command` in {shown}"),
            );
        }
    }
    if status.is_none() && group.checks.is_empty() {
        let count = processes.len();
        group.ok(format!(
            "{shown} is valid TOML, and the programs of its {count} stdio servers exist"
        ));
    }
}

/// The servers whose state the daemon knows.
fn servers_known_to_daemon(status: Option<&Status>) -> BTreeSet<&str> {
    let servers = status.into_iter().flat_map(|status| &status.servers);
    servers
        .filter(|server| !matches!(server.state, ServerState::Cold))
        .map(|server| server.name.as_str())
        .collect()
}

fn configured_processes(config: &ConfigDocument) -> Vec<ConfiguredProcess> {
    let entries = config.section_entries(&["servers"]).into_iter();
    entries
        .filter_map(|(name, entry)| {
            let is_off = entry["enabled"] == false;
            let command = entry["command"].as_str()?;
            let args = entry["args"].as_array().into_iter().flatten();
            let args = args.filter_map(Value::as_str);
            (!is_off).then(|| ConfiguredProcess {
                name: name.to_owned(),
                command: command.to_owned(),
                args: args.map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// Why a program cannot be started, as far as this process can tell.
fn missing_command(command: &str, path: Option<&OsStr>) -> Option<String> {
    if command.is_empty() || command.contains('$') || command.starts_with('~') {
        // Only the daemon can expand it, and reports a failure.
        return None;
    }
    let program = Path::new(command);
    if program.is_absolute() {
        return (!is_executable(program)).then(|| {
            if program.exists() {
                format!("{command} is not a program that you can run")
            } else {
                format!("there is no {command}")
            }
        });
    }
    if program.components().nth(1).is_some() {
        return None;
    }
    let path = path?;
    let mut folders = std::env::split_paths(path).filter(|folder| folder != &PathBuf::new());
    let found = folders.any(|folder| is_executable(&folder.join(command)));
    (!found).then(|| format!("`{command}` is not in PATH"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::CheckVerdict, *};

    fn checks_of(config: &str) -> Vec<(CheckVerdict, String)> {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        std::fs::write(dirs.config_file(), config).unwrap();
        let path = Some(OsStr::new("/usr/bin:/bin"));
        let group = CheckGroup::filled(|group| check_config_file(group, &dirs, None, path));
        let checks = group.checks.into_iter();
        checks.map(|check| (check.verdict, check.message)).collect()
    }

    #[test]
    fn toml_error_names_the_line_without_its_content() {
        let checks = checks_of("[servers.a]\ncommand = \"sh\"\nenv = { TOKEN = \"s3cret\n");
        let [(CheckVerdict::Failure, message)] = &checks[..] else {
            panic!("{checks:?}");
        };
        assert!(
            message.contains("line 3: ") && !message.contains("s3cret"),
            "{message}"
        );
    }

    #[test]
    fn missing_programs_are_reported() {
        let checks = checks_of(
            "[servers]\ninline = { command = \"sh\" }\n[servers.here]\ncommand = \"/bin/sh\"\n\
             [servers.gone]\ncommand = \"/no/such\"\n[servers.lost]\ncommand = \"no-such-program\"\n\
             [servers.off]\ncommand = \"no-such-program\"\nenabled = false\n\
             [servers.later]\ncommand = \"${TOOLS}/x\"\n[servers.far]\nurl = \"https://example.com\"\n",
        );
        let checks: Vec<&str> = checks.iter().map(|(_, message)| message.as_str()).collect();
        assert_eq!(
            checks,
            [
                "[servers.gone]: there is no /no/such",
                "[servers.lost]: `no-such-program` is not in PATH"
            ]
        );
        assert_eq!(super::tests::checks_of("")[0].0, CheckVerdict::Ok);
    }
}
