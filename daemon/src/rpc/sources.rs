//! What is told of sources, and a look at a description on demand.

use std::{collections::BTreeSet, time::SystemTime};

use mux_proto as wire;
use mux_wire::{Fault, Kind};

use super::{convert, door::Door};
use crate::state::Daemon;
use mux_settings::{Link, Source, SourceKind};
use mux_sources::Described;
use mux_upstream::{Server, Upstreams};

/// Of a source, and of nothing else.
pub(super) struct Told {
    kind: SourceKind,
    described: Described,
}

pub(super) async fn refresh(
    daemon: &Daemon,
    door: &Door,
    name: &str,
) -> Result<wire::RefreshedSource, wire::Error> {
    let upstreams = daemon.gateway.upstreams();
    let server = upstreams
        .find_seen(name, &door.sight())
        .map_err(convert::error)?;
    let name = server.name();
    if source(&server).is_none() && !daemon.is_source(name) {
        let fault = Fault::new(
            Kind::Validation,
            format!("`{name}` is a server and no source"),
        );
        let hint = format!("`mux servers restart {name}` asks it for its tools again");
        return Err(convert::error(fault.hint(hint)));
    }
    let held = server
        .session(&door.whose())
        .await
        .map_err(convert::error)?;
    match upstreams.sources().refresh(name).await {
        Some(Ok(found)) => {
            // Whoever lists its functions next sees these.
            if !found.is_same() {
                held.session.list_again();
                drop(held.session.current_tools().await);
            }
            Ok(wire::RefreshedSource {
                source: name.to_owned(),
                functions: found.functions,
                added: found.added,
                removed: found.removed,
                changed: found.changed,
                origins: found.origins,
                notes: found.notes,
            })
        }
        Some(Err(problem)) => {
            let message = format!("the description of `{name}` stays as it was: {problem}");
            Err(convert::error(Fault::new(Kind::Unavailable, message)))
        }
        None => {
            let message = format!("`{name}` was closed meanwhile");
            Err(convert::error(
                Fault::new(Kind::Unavailable, message).hint("try again"),
            ))
        }
    }
}

pub(super) fn described(upstreams: &Upstreams, server: &Server) -> Option<Told> {
    let source = source(server)?;
    Some(Told {
        kind: source.kind,
        described: upstreams.sources().described(server.name(), source),
    })
}

pub(super) fn info(told: Told) -> wire::SourceInfo {
    let Described {
        fetched,
        problem,
        facts,
    } = told.described;
    let since = fetched.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    wire::SourceInfo {
        kind: Some(
            match told.kind {
                SourceKind::OpenApi => "openapi",
                SourceKind::Graphql => "graphql",
            }
            .into(),
        ),
        fetched_ms: since.map(convert::millis),
        problem,
        notes: facts
            .notes
            .into_iter()
            .map(|note| wire::SourceNote {
                text: note.text,
                fix: note.fix,
            })
            .collect(),
        missing: facts.missing,
        requests: facts.requests,
    }
}

/// Functions of a source that cannot be called, by name.
pub(super) fn forbidden(upstreams: &Upstreams, server: &Server) -> BTreeSet<String> {
    let told = described(upstreams, server);
    told.map(|told| told.described.facts.forbidden)
        .unwrap_or_default()
}

/// What a user should look at.
pub(super) fn warnings(told: &Told) -> Vec<String> {
    let problem = told.described.problem.as_ref().map(|problem| {
        let age = told.described.fetched.and_then(|at| at.elapsed().ok());
        let age = age.map_or_else(String::new, |age| format!(" of {} ago", rounded(age)));
        format!("its description{age} is used, since a newer one could not be had: {problem}")
    });
    problem
        .into_iter()
        .chain(told.described.facts.notes.iter().map(ToString::to_string))
        .collect()
}

fn source(server: &Server) -> Option<&Source> {
    match &server.definition().as_ref().ok()?.link {
        Link::Source(source) => Some(source),
        Link::Process(_) | Link::Remote(_) => None,
    }
}

/// In the largest unit of which there is one.
fn rounded(age: std::time::Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
