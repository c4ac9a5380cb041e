//! `mux tools override`: writes `[servers.SERVER.override.TOOL]` into config.toml.

use mux_proto::{Error, Kind};
use serde_json::Value;

use super::{
    CommandFailure, CommandResult,
    config::{change::ConfigSource, config_key::ConfigKey},
    repeated_edit::repeat_edit,
};
use crate::{
    agents::ConfigDocument,
    args::ToolOverrideArgs,
    render::{self, ConfigEdit},
};

pub(super) async fn override_tool(args: &ToolOverrideArgs, json: bool) -> CommandResult {
    let Some((server, tool)) = args
        .path
        .split_once('.')
        .filter(|(_, tool)| !tool.is_empty())
    else {
        let message = format!("{:?} is not the path of a tool", args.path);
        return Err(Error::new(Kind::Validation, message)
            .hint("a path is SERVER.TOOL; `mux tools` lists them")
            .into());
    };
    let edit = repeat_edit(async || write_override(args, server, tool).await).await?;
    Ok(render::show(&edit, json, render::config_edit))
}

async fn write_override(
    args: &ToolOverrideArgs,
    server: &str,
    tool: &str,
) -> Result<ConfigEdit, CommandFailure> {
    let source = ConfigSource::read()?;
    let document = source.document()?;
    let section = entry_of(&document, server)?;
    let overrides = [section[0], section[1], "override"];
    // An existing override may have another spelling of the tool.
    let written = document.find_spelled_entry(&overrides, tool);
    let tool = written.map_or(tool, |(written, _)| written);
    let (edited, summary) = if args.remove {
        if document.find_section_entry(&overrides, tool).is_none() {
            let message = format!("{} has no override", args.path);
            return Err(Error::new(Kind::NotFound, message).into());
        }
        let edited = document.without_server_entry(&overrides, tool)?;
        (edited, format!("the override of {} is removed", args.path))
    } else {
        let mut edited = document.clone();
        for (path, value) in changes(args, &[&overrides[..], &[tool]].concat())? {
            edited = edited.with_value(&path, overrides.len() + 1, &value)?;
        }
        (edited, format!("{} is overridden", args.path))
    };
    source
        .apply(&edited.text(), summary, None, args.dry_run)
        .await
}

/// The section and the name of the entry that is called so.
fn entry_of<'a>(document: &'a ConfigDocument, server: &str) -> Result<[&'a str; 2], Error> {
    for section in ["servers", "sources"] {
        if let Some((name, _)) = document.find_spelled_entry(&[section], server) {
            return Ok([section, name]);
        }
    }
    let message = format!("config.toml has no server or source `{server}`");
    Err(Error::new(Kind::NotFound, message)
        .hint("`mux servers` lists them; you can override only those in your own config.toml"))
}

/// The keys to set, each with its value.
fn changes(args: &ToolOverrideArgs, section: &[&str]) -> Result<Vec<(Vec<String>, Value)>, Error> {
    let key = |below: &[&str]| {
        let path = section.iter().chain(below).map(|key| (*key).to_owned());
        ConfigKey::of_path(path.collect())
    };
    let mut all = Vec::new();
    for (name, text) in [("name", &args.name), ("description", &args.description)] {
        if let Some(text) = text {
            all.push((key(&[name])?.path, Value::from(text.as_str())));
        }
    }
    for (table, pairs) in [
        ("annotations", &args.annotations),
        ("defaults", &args.defaults),
        ("fixed", &args.fixed),
    ] {
        for (name, text) in pairs {
            let key = key(&[table, name])?;
            let value = key.parse_value(text);
            all.push((key.path, value));
        }
    }
    if all.is_empty() {
        Err(Error::new(Kind::Validation, "no change was given")
            .hint("give --name, --description, --default, --fix or --annotation; or --remove"))
    } else {
        Ok(all)
    }
}
