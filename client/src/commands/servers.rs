//! `mux servers add`, `remove`, `enable` and `disable`: edit config.toml.
//!
//! Invariant: the file is edited here and never by a request to the daemon. A client that can only call tools
//! therefore cannot add a program. An edit touches one entry, and secrets go into the `env` file.

mod server_entry;

use mux_client::within_seconds;
use mux_proto::{Kind, ServerInfo};
use serde_json::json;

pub(super) use self::server_entry::{absolute_program, build_server_entry, parse_definition};
use super::{
    CommandFailure, CommandResult, UsageMistake,
    config_edit::{ConfigFiles, edit_verb},
    connect_or_start,
    import::{SERVER_IDENTITY_KEYS, overwrite_entry, withhold_secrets},
    install::agent_places,
    repeated_edit::repeat_edit,
    within_server_start,
};
use crate::{
    args,
    render::{self, ServerEdit},
};

pub(super) const SERVERS_SECTION: &[&str] = &["servers"];
pub(super) const SOURCES_SECTION: &[&str] = &["sources"];
/// Other keys that `--replace` removes with the old entry.
const REPLACED_KEYS: &[&str] = &["transport", "socket", "oauth", "account"];

pub(super) async fn add_server(args: &args::ServerAddArgs, json: bool) -> CommandResult {
    if args.command.is_empty() && args.url.is_none() {
        let message = "a server needs a command or a URL";
        return Err(UsageMistake::new(message, args::SERVER_ADD_FORMS).into());
    }
    if let Some(url) = &args.url {
        check_scheme(url)?;
    }
    let WrittenServer { mut edit, connects } =
        repeat_edit(async || write_server(args).await).await?;
    if connects && edit.not_reloaded.is_none() {
        let what = format!("connecting to {}", edit.server);
        let connected = connect_once(&edit.server, edit.change);
        let connected = render::with_spinner(&what, json, connected).await;
        edit.set_connection(connected.map_err(|failure| failure.error));
    }
    Ok(render::server_edit(&edit, json))
}

/// A variable may hold the scheme.
pub(super) fn check_scheme(url: &str) -> Result<(), UsageMistake> {
    let has_scheme = ["http://", "https://", "${"]
        .iter()
        .any(|start| url.starts_with(start));
    if has_scheme {
        return Ok(());
    }
    let message = format!("--url {url:?} is neither an http:// nor an https:// address");
    let hint = match url.split_once("://") {
        Some(_) => {
            "for a local server, give its command: `mux servers add NAME -- COMMAND ARG…`".into()
        }
        None if url.starts_with("localhost") || url.starts_with("127.") => {
            format!("include the scheme: --url http://{url}")
        }
        None => format!("include the scheme: --url https://{url}"),
    };
    Err(UsageMistake::new(message, hint))
}

/// A server whose entry is written.
struct WrittenServer {
    edit: ServerEdit,
    /// True if the server should be started.
    connects: bool,
}

async fn write_server(args: &args::ServerAddArgs) -> Result<WrittenServer, CommandFailure> {
    let mut files = ConfigFiles::read(SERVERS_SECTION)?;
    if let Some(equal) = equal_entry(&files, args)? {
        return Ok(equal);
    }
    let replaced = files.entry_to_replace(&args.name, args.replace)?;
    let name = replaced.clone().unwrap_or_else(|| args.name.clone());
    let (open, secrets) = withhold_secrets(&parse_definition(args)?, &name);
    let mut entry = build_server_entry(&open, args);
    if let Some(old) = files.config.find_section_entry(SERVERS_SECTION, &name) {
        // The old entry's `enabled` stays.
        entry.remove("enabled");
        let old = old.as_object().into_iter().flatten();
        let stale = old.map(|(key, _)| key.clone());
        let stale: Vec<String> = stale
            .filter(|key| REPLACED_KEYS.contains(&key.as_str()) && !entry.contains_key(key))
            .collect();
        for key in stale {
            let section = [SERVERS_SECTION[0], &name];
            files.config = files.config.without_server_entry(&section, &key)?;
        }
    }
    files.config = overwrite_entry(
        &files.config,
        SERVERS_SECTION,
        &name,
        &entry,
        SERVER_IDENTITY_KEYS,
    )?;
    files.set_secrets(&secrets)?;
    let mut edit = ServerEdit::new(&name, edit_verb(replaced.is_some()), args.dry_run);
    let written = files.config.find_section_entry(SERVERS_SECTION, &name);
    if written.is_none_or(|entry| entry.get("sandbox").is_none()) {
        edit.proposed_sandbox = open.proposed_sandbox(&agent_places()?);
    }
    edit.secrets = secrets.into_iter().map(|secret| secret.variable).collect();
    let connects = !args.no_connect && !args.dry_run && !files.is_disabled(&name);
    let edit = files.write_and_refresh(edit, replaced.is_some()).await?;
    Ok(WrittenServer { edit, connects })
}

/// The entry of this name, if it is what this command would write: it is only connected to.
fn equal_entry(
    files: &ConfigFiles,
    args: &args::ServerAddArgs,
) -> Result<Option<WrittenServer>, CommandFailure> {
    let Some(known) = files.config.find_section_entry(SERVERS_SECTION, &args.name) else {
        return Ok(None);
    };
    let (open, secrets) = withhold_secrets(&parse_definition(args)?, &args.name);
    let wanted = build_server_entry(&open, args);
    let without_state = known.as_object().into_iter().flatten();
    let known: serde_json::Map<_, _> = without_state
        .filter(|(key, _)| !["enabled", "sandbox"].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if known != wanted || !files.has_secrets(&secrets) {
        return Ok(None);
    }
    let mut edit = ServerEdit::new(&args.name, "unchanged", args.dry_run);
    edit.config = files.dirs.config_file();
    let connects = !args.no_connect && !args.dry_run && !files.is_disabled(&args.name);
    Ok(Some(WrittenServer { edit, connects }))
}

/// Opens a session of the server and waits until it is ready, as `mux servers restart` does. `verb` is what was done.
async fn connect_once(server: &str, verb: &str) -> Result<ServerInfo, CommandFailure> {
    let session = connect_or_start().await?;
    let within = within_server_start();
    let opened = session.client.restart_server(within, server.to_owned());
    let mut error = match opened.await? {
        Ok(info) => return Ok(info),
        Err(error) => error,
    };
    if error.kind != Kind::AuthRequired {
        // The reason of its state does not repeat the server's name.
        let servers = session.client.servers(within_seconds(10)).await??;
        let info = servers.into_iter().find(|info| info.name == server);
        let reason = info.and_then(|info| info.reason).unwrap_or(error.message);
        error.message = format!("`{server}` is {verb}, but it does not start: {reason}");
    }
    Err(error.into())
}

/// Removes an entry of `section`.
pub(super) async fn remove_entry(
    section: &'static [&'static str],
    args: &args::ServerChangeArgs,
    json: bool,
) -> CommandResult {
    let edit = repeat_edit(async || {
        let mut files = ConfigFiles::read(section)?;
        let name = files.existing_entry_name(&args.name)?;
        files.config = files.config.without_server_entry(section, &name)?;
        let edit = ServerEdit::new(&name, "removed", args.dry_run);
        files.write_and_refresh(edit, true).await
    });
    Ok(render::server_edit(&edit.await?, json))
}

pub(super) async fn switch_server(
    args: &args::ServerChangeArgs,
    enabled: bool,
    json: bool,
) -> CommandResult {
    let edit =
        repeat_edit(async || try_switch(SERVERS_SECTION, &args.name, enabled, args.dry_run).await);
    Ok(render::server_edit(&edit.await?, json))
}

/// Enables or disables the server or source of this name in config.toml.
pub(super) async fn switch_entry(
    name: &str,
    is_source: bool,
    enabled: bool,
) -> Result<ServerEdit, CommandFailure> {
    let section = if is_source {
        SOURCES_SECTION
    } else {
        SERVERS_SECTION
    };
    repeat_edit(async || try_switch(section, name, enabled, false).await).await
}

async fn try_switch(
    section: &'static [&'static str],
    name: &str,
    enabled: bool,
    dry_run: bool,
) -> Result<ServerEdit, CommandFailure> {
    let mut files = ConfigFiles::read(section)?;
    let name = files.existing_entry_name(name)?;
    if enabled && files.is_disabled(&name) {
        let entry = [section[0], &name];
        files.config = files.config.without_server_entry(&entry, "enabled")?;
    } else if !enabled && !files.is_disabled(&name) {
        let off = json!({ "enabled": false });
        files.config = files.config.with_server_entry(section, &name, &off)?;
    }
    let change = if enabled { "enabled" } else { "disabled" };
    let edit = ServerEdit::new(&name, change, dry_run);
    files.write_and_refresh(edit, false).await
}
