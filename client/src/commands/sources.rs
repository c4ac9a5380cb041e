//! `mux sources`: APIs whose operations become functions.
//!
//! Invariant: a credential goes into the `env` file and never into config.toml or onto the screen.

use std::path::Path;

use mux_client::{Session, within_seconds};
use mux_proto::{Error, Kind, RefreshedSource, ServerInfo, ToolsRequest};
use serde_json::{Map, Value, json};

use super::{
    CommandFailure, CommandResult,
    config_edit::{ConfigFiles, edit_verb},
    connect_or_start, current_dir,
    import::{
        ServerDefinition, WithheldSecret, escape_literal, nearest_valid_name, overwrite_entry,
        withhold_credentials,
    },
    repeated_edit::repeat_edit,
    servers::{SOURCES_SECTION, absolute_program, remove_entry},
    within_server_start,
};
use crate::{
    args::{self, SourceAddArgs, SourcesCommand},
    render::{self, OfferedFunctions, ServerEdit},
};

/// The keys that identify a source, and how it is called.
const SOURCE_IDENTITY_KEYS: &[&str] = &[
    "openapi", "graphql", "schema", "base_url", "origins", "headers", "auth", "scopes", "rate",
];
/// How many functions are listed after a source was added.
const MAX_LISTED_FUNCTIONS: usize = 5;

pub(super) async fn sources(args: args::SourcesArgs, json: bool) -> CommandResult {
    match args.command {
        None | Some(SourcesCommand::List) => {
            let session = connect_or_start().await?;
            let sources = list_sources(&session).await?;
            let config = super::resolve_dirs()?.config_file();
            Ok(render::show(&sources[..], json, |sources| {
                render::sources(sources, &config);
            }))
        }
        Some(SourcesCommand::Add(args)) => add_source(&args, json).await,
        Some(SourcesCommand::Remove(args)) => remove_entry(SOURCES_SECTION, &args, json).await,
        Some(SourcesCommand::Refresh { source }) => {
            let session = connect_or_start().await?;
            let found = refresh_source(&session, &source, json).await?;
            Ok(render::show(&found?, json, render::refreshed_source))
        }
    }
}

async fn add_source(args: &SourceAddArgs, json: bool) -> CommandResult {
    let mut edit = repeat_edit(async || write_source(args).await).await?;
    if !args.dry_run {
        match summarize_source(&edit.server, json).await {
            Ok(offered) => edit.offered = Some(offered),
            Err(failure) => {
                edit.problem.get_or_insert(failure.error.message);
            }
        }
    }
    Ok(render::server_edit(&edit, json))
}

async fn write_source(args: &SourceAddArgs) -> Result<ServerEdit, CommandFailure> {
    let mut files = ConfigFiles::read(SOURCES_SECTION)?;
    let replaced = files.entry_to_replace(&args.name, args.replace)?;
    let name = replaced.clone().unwrap_or_else(|| args.name.clone());
    let (entry, secrets) = source_entry(args, &name)?;
    files.config = overwrite_entry(
        &files.config,
        SOURCES_SECTION,
        &name,
        &entry,
        SOURCE_IDENTITY_KEYS,
    )?;
    files.set_secrets(&secrets)?;
    let mut edit = ServerEdit::new(&name, edit_verb(replaced.is_some()), args.dry_run);
    edit.secrets = secrets.into_iter().map(|secret| secret.variable).collect();
    files.write_and_refresh(edit, replaced.is_some()).await
}

/// The entry that the arguments define, in the syntax of config.toml, with references instead of secrets.
fn source_entry(
    args: &SourceAddArgs,
    name: &str,
) -> Result<(Map<String, Value>, Vec<WithheldSecret>), Error> {
    let near = nearest_valid_name(name);
    if near != name {
        let message = format!("{name:?} is not a valid source name");
        return Err(Error::new(Kind::Validation, message).hint(format!("`{near}` is valid")));
    }
    let resolve =
        |written: &Option<String>| written.as_deref().map(resolve_description).transpose();
    let openapi = resolve(&args.openapi)?;
    let schema = resolve(&args.schema)?;
    let mut texts: Vec<(String, String)> = args.auth.clone();
    let mut logins = args.logins.clone();
    let mut credentials: Vec<(&str, &mut String)> = Vec::new();
    credentials.extend(
        texts
            .iter_mut()
            .map(|(scheme, text)| (scheme.as_str(), text)),
    );
    credentials.extend(
        logins
            .iter_mut()
            .map(|(scheme, _, password)| (scheme.as_str(), password)),
    );
    // An address may contain a key.
    let address = openapi.clone().or_else(|| args.graphql.clone());
    let base = args.base_url.iter();
    let definition = ServerDefinition {
        url: address,
        env: base
            .map(|base| ("base_url".to_owned(), base.clone()))
            .collect(),
        headers: args.headers.iter().cloned().collect(),
        ..ServerDefinition::default()
    };
    let (open, secrets) = withhold_credentials(&definition, &mut credentials, name);
    let mut auth = Map::new();
    for (scheme, text) in texts {
        auth.insert(scheme, text.into());
    }
    for (scheme, username, password) in logins {
        auth.insert(
            scheme,
            json!({ "username": username, "password": password }),
        );
    }
    let key = if openapi.is_some() {
        "openapi"
    } else {
        "graphql"
    };
    let mut entry = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            entry.insert(key.into(), value);
        }
    };
    let headers = (!open.headers.is_empty()).then(|| json!(open.headers));
    set(key, open.url.map(Value::from));
    set("schema", schema.map(Value::from));
    set(
        "base_url",
        open.env.get("base_url").cloned().map(Value::from),
    );
    set("origins", json_array(&args.origins));
    set("headers", headers);
    set("auth", (!auth.is_empty()).then_some(Value::Object(auth)));
    set("scopes", json_array(&args.scopes));
    set("rate", args.rate.clone().map(Value::from));
    Ok((entry, secrets))
}

fn json_array(words: &[String]) -> Option<Value> {
    (!words.is_empty()).then(|| json!(words))
}

/// An address unchanged, or a file as an absolute path, because the daemon has another working directory.
fn resolve_description(written: &str) -> Result<String, Error> {
    if written.contains("://") || written.starts_with('$') {
        return Ok(written.to_owned());
    }
    let here = current_dir().ok();
    let path = here.as_deref().unwrap_or(Path::new("/")).join(written);
    if !path.is_file() {
        let message = format!("there is no file {}", path.display());
        let hint = "a description is a file, or http:// or https:// and a host";
        return Err(Error::new(Kind::Validation, message).hint(hint));
    }
    Ok(absolute_program(&escape_literal(written), here.as_deref()))
}

/// The number of functions of a source, and some of their names.
async fn summarize_source(name: &str, json: bool) -> Result<OfferedFunctions, CommandFailure> {
    let session = connect_or_start().await?;
    let found = refresh_source(&session, name, json).await??;
    let request = ToolsRequest {
        server: Some(name.to_owned()),
        limit: Some(MAX_LISTED_FUNCTIONS),
        ..ToolsRequest::default()
    };
    let tools = session.client.tools(within_server_start(), request);
    let tools = tools.await??.tools;
    let info = list_sources(&session)
        .await?
        .into_iter()
        .find(|info| info.name == name);
    let info = info.and_then(|info| info.source).unwrap_or_default();
    Ok(OfferedFunctions {
        functions: found.functions,
        some: tools
            .iter()
            .map(|tool| format!("{}.{}", tool.server, tool.name))
            .collect(),
        missing: info.missing,
        notes: info.notes,
    })
}

async fn refresh_source(
    session: &Session,
    name: &str,
    json: bool,
) -> Result<Result<RefreshedSource, Error>, CommandFailure> {
    let what = format!("reading the description of {name}");
    let within = within_server_start();
    let answer = session.client.refresh_source(within, name.to_owned());
    Ok(render::with_spinner(&what, json, answer).await?)
}

/// The servers that are sources.
async fn list_sources(session: &Session) -> Result<Vec<ServerInfo>, CommandFailure> {
    let mut sources = session.client.servers(within_seconds(10)).await??;
    sources.retain(|server| server.source.is_some());
    Ok(sources)
}
