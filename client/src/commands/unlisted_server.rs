//! `mux call --stdio COMMAND` and `--url URL`: a server that is used once and is not in config.toml.
//!
//! The server belongs to a separate daemon, whose home is a temporary directory and which ends with the command: the
//! user's daemon starts only what its configuration names. The user's other settings, such as policy and limits,
//! apply. Pins, the audit log and the file `env` of the user's daemon are not used.

use std::{fs, path::Path};

use mux_proto::{Error, Kind};
use serde_json::json;

use super::{
    CommandFailure, CommandResult, OWN_HOME, UsageMistake, call,
    config::change::ConfigSource,
    connect_if_running,
    daemon_control::stop_daemon,
    servers::{build_server_entry, check_scheme, parse_definition},
    status_and_lists,
};
use crate::{args, exit, found_program::find_in_path};

const SERVER_NAME: &str = "server";
/// The daemon of a command that was killed ends by itself.
const IDLE_EXIT: &str = "1m";

pub(super) async fn call(mut args: args::CallArgs, json: bool) -> CommandResult {
    let path = args.path.take();
    let unlisted = std::mem::take(&mut args.unlisted);
    if let Some(path) = path.clone()
        && unlisted.stdio.is_none()
        && unlisted.url.is_none()
    {
        return call::call(path, args, json).await;
    }
    let entry = server_args(unlisted)?;
    let failed = |error: std::io::Error| {
        exit::unavailable_error(format!("cannot create a temporary directory: {error}"))
    };
    let home = tempfile::Builder::new()
        .prefix("mux-")
        .tempdir()
        .map_err(failed)?;
    let config = config_with(&entry)?;
    fs::write(home.path().join("config.toml"), config).map_err(failed)?;
    let mut done = use_server(home.path(), path, args, json).await;
    if let Err(failure) = &mut done {
        replace_hint(&mut failure.error);
    }
    // A directory whose daemon does not end stays until the system empties its temporary files.
    let stopped = match connect_if_running().await {
        Ok(Some(session)) => stop_daemon(session, true).await,
        Ok(None) => Ok(()),
        Err(failure) => Err(failure),
    };
    let code = done?;
    stopped?;
    Ok(code)
}

/// Replaces a hint of the daemon that names a command or a key for servers that have an entry.
fn replace_hint(error: &mut Error) {
    const ENTRY_WORDS: &[&str] = &["[servers.", "mux tools", "mux servers"];
    let names_entry = |hint: &String| ENTRY_WORDS.iter().any(|word| hint.contains(word));
    if error.hint.as_ref().is_some_and(names_entry) {
        error.hint = match error.kind.known() {
            Some(Kind::NotFound) => {
                Some("leave out the tool to list the tools of the server".into())
            }
            Some(Kind::Unavailable) => {
                Some("check the command or the address of the server".into())
            }
            _ => None,
        };
    }
}

/// Calls the tool, or lists the tools if none is named.
async fn use_server(
    home: &Path,
    path: Option<String>,
    args: args::CallArgs,
    json: bool,
) -> CommandResult {
    if OWN_HOME.set(home.to_owned()).is_err() {
        return Err(Error::new(Kind::Internal, "the command has a home already").into());
    }
    if let Some(tool) = path {
        call::call(format!("{SERVER_NAME}.{tool}"), args, json).await
    } else {
        let all = args::ToolsArgs {
            server: Some(SERVER_NAME.into()),
            ..args::ToolsArgs::default()
        };
        status_and_lists::tools(all, json).await
    }
}

/// The arguments of `mux servers add` that would add the server.
fn server_args(server: args::UnlistedServerArgs) -> Result<args::ServerAddArgs, CommandFailure> {
    let mut command = match &server.stdio {
        Some(line) => shlex::split(line)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| {
                let message = format!("--stdio {line:?} is not a command line");
                UsageMistake::new(message, "quote it once: --stdio 'npx -y PACKAGE ARG'")
            })?,
        None => Vec::new(),
    };
    // The daemon's PATH is that of the login shell.
    if let Some(program) = command.first_mut()
        && let Some(found) = find_in_path(program)
    {
        *program = found.to_string_lossy().into_owned();
    }
    if let Some(url) = &server.url {
        check_scheme(url)?;
    }
    Ok(args::ServerAddArgs {
        name: SERVER_NAME.into(),
        url: server.url,
        headers: server.headers,
        command,
        ..args::ServerAddArgs::default()
    })
}

/// The user's configuration with this server instead of all others.
fn config_with(args: &args::ServerAddArgs) -> Result<String, CommandFailure> {
    let mut config = ConfigSource::read()?.document()?;
    for section in ["servers", "sources"] {
        let entries = config.section_entries(&[section]);
        let names: Vec<String> = entries.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in names {
            config = config.without_server_entry(&[section], &name)?;
        }
    }
    let definition = parse_definition(args)?;
    let entry = build_server_entry(&definition, args);
    config = config.with_server_entry(&["servers"], SERVER_NAME, &json!(entry))?;
    config = config.with_value(&["daemon", "idle_exit"], 1, &json!(IDLE_EXIT))?;
    Ok(config.text())
}
