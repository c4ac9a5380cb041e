//! `mux servers sandbox`: the grants and denials of a server's sandbox, and a suggestion after an observed
//! session.
//!
//! Invariant: the entry is edited here and never by a request to the daemon, as with every other command.

use std::{io, time::Duration};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, SandboxSuggestion, SuggestSandboxRequest, transport};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{
    CommandFailure, CommandResult, SERVER_START_TIMEOUT, config::change::ConfigSource,
    connect_or_start, import::escape_literal, install::agent_places, repeated_edit::repeat_edit,
};
use crate::{
    agents::ConfigDocument,
    args::ServerSandboxArgs,
    render::{self, ConfigEdit},
};

const DEFAULT_OBSERVATION: Duration = Duration::from_mins(1);
const SECTION: &str = "servers";

pub(super) async fn sandbox(args: ServerSandboxArgs, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    // Before it is observed: an entry that could not be written is an error now.
    let written = if args.write {
        Some(entry_to_write(&args.server)?)
    } else {
        None
    };
    let server = args.server.clone();
    let profile = session.client.sandbox(within_seconds(60), server.clone());
    let profile = profile.await??;
    if !args.suggest {
        return Ok(render::show(&profile, json, render::sandbox_profile));
    }
    let time = args.time.unwrap_or(DEFAULT_OBSERVATION);
    let request = SuggestSandboxRequest {
        server: server.clone(),
        observe_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    };
    render::observation_begins(&profile, time);
    let within = transport::within(SERVER_START_TIMEOUT * 2 + time);
    let mut observed = std::pin::pin!(session.client.suggest_sandbox(within, request));
    let suggestion = tokio::select! {
        suggestion = &mut observed => suggestion,
        () = line_of_input() => {
            let ended = session.client.end_observation(within_seconds(10), server);
            ended.await??;
            observed.await
        }
    };
    let suggestion = suggestion??;
    let Some(name) = written else {
        let document = ConfigSource::read()?.document()?;
        let name = entry_name(&document, &profile.server);
        let entry = suggested_entry(&suggestion, &document, name.as_deref())?;
        let name = name.unwrap_or(profile.server);
        return Ok(render::sandbox_suggestion(&name, &entry, &suggestion, json));
    };
    match repeat_edit(async || write_suggestion(&name, &suggestion).await).await {
        Ok(edit) => {
            if !json {
                render::sandbox_remarks_left(&suggestion);
            }
            Ok(render::show(&edit, json, render::config_edit))
        }
        Err(failure) => {
            // The observation is not lost with the edit.
            if !json {
                let document = ConfigSource::read()?.document()?;
                let entry = suggested_entry(&suggestion, &document, Some(&name))?;
                render::sandbox_suggestion(&name, &entry, &suggestion, false);
            }
            Err(failure)
        }
    }
}

async fn write_suggestion(
    name: &str,
    suggestion: &SandboxSuggestion,
) -> Result<ConfigEdit, CommandFailure> {
    let source = ConfigSource::read()?;
    let document = source.document()?;
    let entry = suggested_entry(suggestion, &document, Some(name))?;
    let edited = document.with_value(&[SECTION, name, "sandbox"], 2, &Value::Object(entry))?;
    let summary = format!("the sandbox of {name} is written");
    source.apply(&edited.text(), summary, None, false).await
}

fn entry_name(document: &ConfigDocument, server: &str) -> Option<String> {
    let (name, _) = document.find_spelled_entry(&[SECTION], server)?;
    Some(name.to_owned())
}

fn entry_to_write(server: &str) -> Result<String, CommandFailure> {
    let source = ConfigSource::read()?;
    entry_name(&source.document()?, server).ok_or_else(|| {
        let message = format!("config.toml has no server `{server}`");
        let hint = "omit --write, and put the suggestion where the server is defined";
        Error::new(Kind::NotFound, message).hint(hint).into()
    })
}

/// The value of `sandbox`. Limits that the entry has stay: they are not observed.
fn suggested_entry(
    suggestion: &SandboxSuggestion,
    document: &ConfigDocument,
    name: Option<&str>,
) -> Result<Map<String, Value>, CommandFailure> {
    let places = agent_places()?;
    let mut entry = Map::new();
    for (key, paths) in [("read", &suggestion.read), ("write", &suggestion.write)] {
        let paths: Vec<Value> = paths
            .iter()
            .map(|path| escape_literal(&places.tilde_path(path)).into())
            .collect();
        if !paths.is_empty() {
            entry.insert(key.into(), paths.into());
        }
    }
    let network = match (suggestion.any_network, suggestion.hosts.is_empty()) {
        (true, _) => "any".into(),
        (false, true) => "none".into(),
        (false, false) => Value::from(suggestion.hosts.clone()),
    };
    entry.insert("network".into(), network);
    let present = name.and_then(|name| document.find_section_entry(&[SECTION], name));
    for key in ["memory", "processes"] {
        if let Some(limit) = present.and_then(|present| present.get("sandbox")?.get(key)) {
            entry.insert(key.into(), limit.clone());
        }
    }
    Ok(entry)
}

/// Resolves with a line on standard input. Never resolves at its end, because there may be none.
async fn line_of_input() {
    let (read, line) = oneshot::channel();
    // A separate thread: the program can end without waiting for it.
    std::thread::spawn(move || {
        if matches!(io::stdin().read_line(&mut String::new()), Ok(1..)) {
            read.send(()).ok();
        }
    });
    if line.await.is_err() {
        std::future::pending::<()>().await;
    }
}
