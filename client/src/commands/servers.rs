//! `mux servers add`, `remove`, `enable` and `disable`: edit config.toml.
//!
//! Invariant: the file is edited here and never by a request to the daemon, so that a client that can only call tools
//! cannot add a program. An edit touches one entry, and secrets go into the `env` file.

mod entry;

use serde_json::json;

pub(super) use self::entry::{absolute, here};
use self::entry::{definition, entry};
use super::{
    Outcome,
    edit::{Files, added},
    import::{IDENTITY, config_failure, over, withhold},
};
use crate::{
    args,
    render::{self, ServerEdit},
};

const SECTION: &[&str] = &["servers"];
/// Other keys that `--replace` removes with the old entry.
const REPLACED: &[&str] = &["transport", "socket", "oauth"];

pub(super) async fn add(args: &args::AddServer, json: bool) -> Outcome {
    let mut files = Files::read(SECTION)?;
    let replaced = files.replaced(&args.name, args.replace)?;
    let name = replaced.clone().unwrap_or_else(|| args.name.clone());
    let (open, secrets) = withhold(&definition(args)?, &name);
    let mut entry = entry(&open, args);
    if let Some(old) = files.config.server(SECTION, &name) {
        // The old entry's `enabled` stays.
        entry.remove("enabled");
        let old = old.as_object().into_iter().flatten();
        let stale = old.map(|(key, _)| key.clone());
        let stale: Vec<String> = stale
            .filter(|key| REPLACED.contains(&key.as_str()) && !entry.contains_key(key))
            .collect();
        for key in stale {
            files.config = files.retold(files.config.take(&[SECTION[0], &name], &key))?;
        }
    }
    let edited = over(&files.config, SECTION, &name, &entry, IDENTITY);
    files.config = edited.map_err(|error| config_failure(&error, &files.dirs.config_file()))?;
    files.keep(&secrets)?;
    let mut edit = ServerEdit::new(&name, added(replaced.is_some()), args.dry_run);
    edit.secrets = secrets.into_iter().map(|secret| secret.variable).collect();
    let edit = files.finish(edit, replaced.is_some()).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn remove(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read(SECTION)?;
    let name = files.existing(&args.name)?;
    files.config = files.retold(files.config.take(SECTION, &name))?;
    let edit = ServerEdit::new(&name, "removed", args.dry_run);
    let edit = files.finish(edit, true).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn enable(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read(SECTION)?;
    let name = files.existing(&args.name)?;
    if files.is_off(&name) {
        files.config = files.retold(files.config.take(&[SECTION[0], &name], "enabled"))?;
    }
    let edit = ServerEdit::new(&name, "enabled", args.dry_run);
    let edit = files.finish(edit, false).await?;
    Ok(render::server_edit(&edit, json))
}

pub(super) async fn disable(args: &args::ChangeServer, json: bool) -> Outcome {
    let mut files = Files::read(SECTION)?;
    let name = files.existing(&args.name)?;
    if !files.is_off(&name) {
        let off = json!({ "enabled": false });
        files.config = files.retold(files.config.put(SECTION, &name, &off))?;
    }
    let edit = ServerEdit::new(&name, "disabled", args.dry_run);
    let edit = files.finish(edit, false).await?;
    Ok(render::server_edit(&edit, json))
}
