//! `mux config get`, `set` and `unset`.

use mux_proto::{Error, Kind};
use mux_secrets::is_secret;

use super::{
    change::ConfigSource,
    config_key::{ConfigKey, KeyDefault, spell_key, split_key},
    settings_report,
};
use crate::{
    agents::{ConfigDocument, ConfigFormat},
    args,
    commands::{CommandFailure, CommandResult, repeated_edit::repeat_edit},
    render::{self, ConfigEdit},
};

/// Prints the current value. For an agent with a section, prints every setting that applies to the
/// agent.
pub(super) async fn get(key: &str, json: bool) -> CommandResult {
    let key = ConfigKey::parse(key)?;
    let agent = match key.path.as_slice() {
        [section, name, ..] if section == "agents" => Some(name.clone()),
        _ => None,
    };
    let report = settings_report(agent).await?;
    let text = ConfigDocument::parse(report.text.as_bytes(), ConfigFormat::Toml);
    let text = text.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
    if let Some(value) = text.find_value(&key.path) {
        return Ok(render::config_value(&key.spelled(), value, json));
    }
    let source = ConfigSource::read()?;
    let document = source.document()?;
    if document.find_value(&key.path).is_some() {
        let message = format!(
            "{} has no value to show: its entry contains secrets, or it has not taken effect",
            key.spelled()
        );
        let hint = "`mux config edit` opens the file; `mux config check` lists its errors";
        return Err(Error::new(Kind::NotFound, message).hint(hint).into());
    }
    match key.default() {
        KeyDefault::Value(value) => Ok(render::config_value(&key.spelled(), &value, json)),
        KeyDefault::Described(_) | KeyDefault::None => {
            let message = format!("{} is not set", key.spelled());
            Err(Error::new(Kind::NotFound, message)
                .hint(key.documented())
                .into())
        }
    }
}

pub(super) async fn set(args: &args::ConfigSetArgs, json: bool) -> CommandResult {
    let key = ConfigKey::parse(&args.key)?;
    let spelled = key.spelled();
    if key.path.len() <= key.headed() {
        let message = format!("{spelled} is a section and cannot have a value");
        let hint = match spelled.as_str() {
            "policy" => "`mux policy add` adds a rule".to_owned(),
            _ => format!("set one of its keys, as in `mux config set {spelled}.KEY VALUE`"),
        };
        return Err(Error::new(Kind::Validation, message).hint(hint).into());
    }
    let value = key.parse_value(&args.value);
    let mut edit = repeat_edit(async || {
        let source = ConfigSource::read()?;
        check_entry_exists(&source.document()?, &key.path)?;
        let edited = source
            .document()?
            .with_value(&key.path, key.headed(), &value)?;
        let summary = format!("{spelled} is set");
        let documented = Some(key.documented());
        source
            .apply(&edited.text(), summary, documented, args.dry_run)
            .await
    })
    .await?;
    let name = key.path.last().map_or("", String::as_str);
    if value
        .as_str()
        .is_some_and(|text| !text.contains("${") && is_secret(name, text))
    {
        let warning = "this looks like a secret: `mux secrets set NAME` stores it, and '${keyring:NAME}' refers to it";
        edit.warnings.push(warning.to_owned());
    }
    Ok(render::show(&edit, json, render::config_edit))
}

/// A key of a server or source without an entry would create an entry that cannot work.
fn check_entry_exists(document: &ConfigDocument, path: &[String]) -> Result<(), CommandFailure> {
    let [section, name, _, ..] = path else {
        return Ok(());
    };
    let kind = match section.as_str() {
        "servers" => "server",
        "sources" => "source",
        _ => return Ok(()),
    };
    let entries = document.section_entries(&[section]);
    if entries.iter().any(|(known, _)| known == name) {
        return Ok(());
    }
    let known: Vec<&str> = entries.iter().map(|(known, _)| *known).collect();
    let known = match known.as_slice() {
        [] => String::new(),
        known => format!("{section} in config.toml: {}\n", known.join(", ")),
    };
    let message = format!("there is no [{section}.{name}] in config.toml");
    Err(Error::new(Kind::NotFound, message)
        .hint(format!("{known}`mux {kind}s add {name} …` adds one"))
        .into())
}

/// Removes a key of the file, known or not.
pub(super) async fn unset(args: &args::ConfigUnsetArgs, json: bool) -> CommandResult {
    let edit = repeat_edit(async || try_unset(args).await).await?;
    Ok(render::show(&edit, json, render::config_edit))
}

async fn try_unset(args: &args::ConfigUnsetArgs) -> Result<ConfigEdit, CommandFailure> {
    let path = split_key(&args.key)?;
    let spelled = spell_key(&path);
    let source = ConfigSource::read()?;
    let document = source.document()?;
    let (Some((name, section)), Some(_)) = (path.split_last(), document.find_value(&path)) else {
        // An unknown key is a typo.
        ConfigKey::parse(&args.key)?;
        let summary = format!("{spelled} is not set");
        return source.write(source.text()?, summary, args.dry_run).await;
    };
    let edited = document.without_server_entry(section, name)?;
    let summary = format!("{spelled} is removed");
    source
        .apply(&edited.text(), summary, None, args.dry_run)
        .await
}
