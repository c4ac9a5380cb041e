//! The state of sources, and reloading a description on request.

use std::{collections::BTreeSet, time::SystemTime};

use mux_proto as wire;
use mux_wire::FaultKind;

use super::connection::ConnectionState;
use crate::daemon::Daemon;
use mux_catalog::{ServerWarning, ServerWarningCode};
use mux_settings::SourceKind;
use mux_sources::DescriptionStatus;
use mux_upstream::{Server, Upstreams};

/// The kind and the description status of a source.
pub(super) struct SourceSummary {
    kind: SourceKind,
    described: DescriptionStatus,
}

pub(super) async fn refresh(
    daemon: &Daemon,
    connection: &ConnectionState,
    name: &str,
) -> wire::Result<wire::RefreshedSource> {
    let upstreams = daemon.gateway.upstreams();
    let server = connection.find_server(name)?;
    let name = server.name();
    if server.source().is_none() && !daemon.is_source(name) {
        let message = format!("`{name}` is a server, not a source");
        let hint = format!("`mux servers restart {name}` lists its tools again");
        return Err(wire::Error::new(FaultKind::Validation, message).hint(hint));
    }
    let held = server.session(&connection.identity()).await?;
    match upstreams.sources().refresh(name).await {
        Some(Ok(found)) => {
            // The next list of the source's functions contains the changes.
            if !found.is_same() {
                held.session.request_tools_refresh();
                drop(held.session.current_tools().await);
            }
            Ok(found)
        }
        Some(Err(problem)) => {
            let message = format!("the description of `{name}` stays as it was: {problem}");
            Err(wire::Error::new(FaultKind::Unavailable, message))
        }
        None => {
            let message = format!("`{name}` was closed meanwhile");
            Err(wire::Error::new(FaultKind::Unavailable, message).hint("try again"))
        }
    }
}

pub(super) fn summarize_source(upstreams: &Upstreams, server: &Server) -> Option<SourceSummary> {
    let source = server.source()?;
    Some(SourceSummary {
        kind: source.kind,
        described: upstreams
            .sources()
            .description_status_of(server.name(), source),
    })
}

pub(super) fn source_info(summary: SourceSummary) -> wire::SourceInfo {
    let DescriptionStatus {
        fetched,
        problem,
        facts,
    } = summary.described;
    let since = fetched.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    wire::SourceInfo {
        kind: Some(
            match summary.kind {
                SourceKind::OpenApi => "openapi",
                SourceKind::Graphql => "graphql",
            }
            .into(),
        ),
        fetched_ms: since.map(wire::millis),
        problem,
        notes: facts.notes,
        missing: facts.missing,
        requests: facts.requests,
    }
}

/// The names of a source's functions that cannot be called.
pub(super) fn uncallable_functions(upstreams: &Upstreams, server: &Server) -> BTreeSet<String> {
    let summary = summarize_source(upstreams, server);
    summary
        .map(|summary| summary.described.facts.forbidden)
        .unwrap_or_default()
}

/// Warnings about a source for the user.
pub(super) fn source_warnings(summary: &SourceSummary, name: &str) -> Vec<ServerWarning> {
    let problem = summary.described.problem.as_ref().map(|problem| {
        let age = summary.described.fetched.and_then(|at| at.elapsed().ok());
        let age = age.map_or_else(String::new, |age| format!(" of {} ago", rounded_age(age)));
        ServerWarningCode::SourceProblem.warning(format!(
            "its description{age} is used, because a newer one could not be loaded: {problem}"
        ))
    });
    let facts = &summary.described.facts;
    let missing = facts.missing.iter().map(|scheme| {
        wire::SourceNote::with_fix(
            format!("functions need a credential for `{scheme}`, but none is configured"),
            format!("set auth = {{ {scheme} = \"${{NAME}}\" }} in [sources.{name}]"),
        )
    });
    let notes = facts.notes.iter().cloned().chain(missing).map(|note| {
        let text = note.to_string();
        ServerWarningCode::SourceNote { fix: note.fix }.warning(text)
    });
    problem.into_iter().chain(notes).collect()
}

/// An age in its largest unit.
fn rounded_age(age: std::time::Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
