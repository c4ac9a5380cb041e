//! `mux servers add`, `remove`, `enable` and `disable`: edit config.toml.
//!
//! Invariant: the file is edited here and never by a request to the daemon, so that a client that can only call tools
//! cannot add a program. An edit touches one entry, and secrets go into the `env` file.

mod entry;

use serde_json::json;

pub(super) use self::entry::{absolute_program, current_dir};
use self::entry::{build_server_entry, parse_definition};
use super::{
    CommandResult,
    edit::{ConfigFiles, edit_verb},
    import::{SERVER_IDENTITY_KEYS, config_failure, overwrite_entry, withhold_secrets},
};
use crate::{
    args,
    render::{self, ServerEdit},
};

const SERVERS_SECTION: &[&str] = &["servers"];
/// Other keys that `--replace` removes with the old entry.
const REPLACED_KEYS: &[&str] = &["transport", "socket", "oauth"];

pub(super) async fn add_server(args: &args::ServerAddArgs, json: bool) -> CommandResult {
    let mut files = ConfigFiles::read(SERVERS_SECTION)?;
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
            files.config = files.reparse_config(
                files
                    .config
                    .without_server_entry(&[SERVERS_SECTION[0], &name], &key),
            )?;
        }
    }
    let edited = overwrite_entry(
        &files.config,
        SERVERS_SECTION,
        &name,
        &entry,
        SERVER_IDENTITY_KEYS,
    );
    files.config = edited.map_err(|error| config_failure(&error, &files.dirs.config_file()))?;
    files.set_secrets(&secrets)?;
    let mut edit = ServerEdit::new(&name, edit_verb(replaced.is_some()), args.dry_run);
    edit.secrets = secrets.into_iter().map(|secret| secret.variable).collect();
    let edit = files.write_and_refresh(edit, replaced.is_some()).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn remove_server(args: &args::ServerChangeArgs, json: bool) -> CommandResult {
    let mut files = ConfigFiles::read(SERVERS_SECTION)?;
    let name = files.existing_entry_name(&args.name)?;
    files.config =
        files.reparse_config(files.config.without_server_entry(SERVERS_SECTION, &name))?;
    let edit = ServerEdit::new(&name, "removed", args.dry_run);
    let edit = files.write_and_refresh(edit, true).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn enable_server(args: &args::ServerChangeArgs, json: bool) -> CommandResult {
    let mut files = ConfigFiles::read(SERVERS_SECTION)?;
    let name = files.existing_entry_name(&args.name)?;
    if files.is_disabled(&name) {
        files.config = files.reparse_config(
            files
                .config
                .without_server_entry(&[SERVERS_SECTION[0], &name], "enabled"),
        )?;
    }
    let edit = ServerEdit::new(&name, "enabled", args.dry_run);
    let edit = files.write_and_refresh(edit, false).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn disable_server(args: &args::ServerChangeArgs, json: bool) -> CommandResult {
    let mut files = ConfigFiles::read(SERVERS_SECTION)?;
    let name = files.existing_entry_name(&args.name)?;
    if !files.is_disabled(&name) {
        let off = json!({ "enabled": false });
        files.config =
            files.reparse_config(files.config.with_server_entry(SERVERS_SECTION, &name, &off))?;
    }
    let edit = ServerEdit::new(&name, "disabled", args.dry_run);
    let edit = files.write_and_refresh(edit, false).await?;
    Ok(render::server_edit(&edit, json))
}
