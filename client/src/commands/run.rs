//! `mux run` and `mux check`.

use std::path::Path;

use mux_client::{Session, within_seconds};
use mux_proto::{CheckRequest, Outcome as RunOutcome, RunRequest};

use super::{Failure, Outcome, ask, interrupted, parts, session, source, stored, usage};
use crate::{
    args,
    render::{self, RunView},
};

pub(super) async fn run(args: args::Run, json: bool) -> Outcome {
    let listing = match source::read(&args.source)? {
        Ok(listing) => listing,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let input = match args.input.as_deref().map(serde_json::from_str).transpose() {
        Ok(input) => input.unwrap_or_default(),
        Err(error) => {
            return usage(
                format!("--input is not JSON: {error}"),
                "quote it: --input '{\"n\": 1}'",
                json,
            );
        }
    };
    let save = args.parts.save_parts;
    if let Some(folder) = &save
        && let Err((message, hint)) = parts::prepare(folder)
    {
        return usage(message, hint, json);
    }
    let request = RunRequest {
        source: listing.text.clone(),
        input,
        timeout_ms: args
            .timeout
            .map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX)),
        traceparent: None,
        detach: args.detach,
        no_check: args.no_check,
    };
    if args.detach {
        let started = ask(async |session| mux_client::start(session, request.clone()).await);
        return match started.await? {
            Ok(run) => Ok(render::detached(&run, json)),
            Err(error) => Ok(render::failure(&error, json, Some(&listing))),
        };
    }
    let mut view = RunView::new(json, save.is_some(), Some(listing));
    let run = ask(async |session| {
        let run = mux_client::start(session, request.clone()).await?;
        view.accepted(&run);
        let finished = mux_client::watch(session, &run, 0, |event| view.show(event)).await?;
        Ok((session.clone(), finished.outcome))
    });
    let finished = tokio::select! {
        finished = run => finished?,
        // The daemon ends the run with the connection.
        () = interrupted() => return Ok(view.interrupted("the run was cancelled")),
    };
    match finished {
        Ok((session, outcome)) => finish(&session, view, outcome, save.as_deref(), json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}

/// Shows how a run ended, and writes its parts to files if that was asked for.
pub(super) async fn finish(
    session: &Session,
    mut view: RunView,
    outcome: RunOutcome,
    save: Option<&Path>,
    json: bool,
) -> Outcome {
    if let Some(folder) = save {
        let (files, failure) = parts::save(session, folder, view.parts()).await;
        view.saved(&files, failure);
    }
    match outcome {
        RunOutcome::Result(value) => Ok(view.result(&value)),
        RunOutcome::Error(error) => Ok(view.failed(&error)),
        RunOutcome::Stored(handle) if json => Ok(view.stored(&handle)),
        RunOutcome::Stored(handle) => {
            let failure = view.before_stored();
            let code = stored::print(session, &handle).await?;
            match failure {
                Some(error) => Err(error.into()),
                None => Ok(code),
            }
        }
    }
}

pub(super) async fn check(args: args::Source, json: bool) -> Outcome {
    let listing = match source::read(&args)? {
        Ok(listing) => listing,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let request = CheckRequest {
        source: listing.text.clone(),
    };
    let found = session()
        .await?
        .client
        .check(within_seconds(30), request)
        .await?;
    let found = found.map_err(Failure::from)?;
    Ok(render::diagnostics(&found, &listing, json))
}
