//! `mux run` and `mux check`.

use std::{path::PathBuf, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{CheckRequest, Outcome as RunOutcome, RunRequest};
use serde_json::Value;

use super::{
    Failure, Outcome, approver::Approver, ask, interrupted, parts, recording, session, source,
    stored, trace, usage,
};
use crate::{
    args,
    render::{self, Listing, RunView},
};

pub(super) async fn run(args: args::Run, json: bool) -> Outcome {
    let listing = match source::read(&args.source)? {
        Ok(listing) => listing,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let input = match input(args.input.as_deref()) {
        Ok(input) => input,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let silent = json || args.source.is_stdin();
    let at_end = AtEnd {
        recording: args.record,
        ..AtEnd::saving(args.parts)
    };
    if let Err((message, hint)) = at_end.prepare() {
        return usage(message, hint, json);
    }
    let (traceparent, tracestate) = trace::context(args.trace);
    let request = RunRequest {
        source: listing.text.clone(),
        input,
        traceparent,
        tracestate,
        timeout_ms: millis(args.timeout),
        detach: args.detach,
        no_check: args.no_check,
        record: at_end.recording.is_some(),
        ..RunRequest::default()
    };
    self::request(request, listing, &at_end, (json, silent)).await
}

/// What is done with a run at its end.
#[derive(Debug, Default)]
pub(super) struct AtEnd {
    /// The directory to which its parts are written.
    pub(super) parts: Option<PathBuf>,
    /// The file to which its recording is written.
    pub(super) recording: Option<PathBuf>,
    /// The recorded outcome that it must have.
    pub(super) expected: Option<Value>,
}

impl AtEnd {
    pub(super) fn saving(parts: args::Parts) -> Self {
        Self {
            parts: parts.save_parts,
            ..Self::default()
        }
    }

    /// Checks the paths before the program runs, so that a wrong name fails early. The error is message and hint.
    pub(super) fn prepare(&self) -> Result<(), (String, String)> {
        if let Some(folder) = &self.parts {
            parts::prepare(folder)?;
        }
        self.recording.as_deref().map_or(Ok(()), recording::prepare)
    }
}

/// The value of `--input`. The error is message and hint.
pub(super) fn input(text: Option<&str>) -> Result<Value, (String, String)> {
    let input = text.map(serde_json::from_str).transpose();
    input.map(Option::unwrap_or_default).map_err(|error| {
        let hint = "quote it: --input '{\"n\": 1}'";
        (format!("--input is not JSON: {error}"), hint.to_owned())
    })
}

pub(super) fn millis(time: Option<Duration>) -> Option<u64> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Starts a run, and shows it to its end unless it is detached. `silent`: nothing is asked at the terminal.
pub(super) async fn request(
    request: RunRequest,
    listing: Listing,
    at_end: &AtEnd,
    (json, silent): (bool, bool),
) -> Outcome {
    if request.detach {
        let approver = Approver::of_detached(silent);
        let started = ask(async |session| {
            approver.listen(session).await;
            mux_client::start(session, request.clone()).await
        });
        return match started.await? {
            Ok(run) => Ok(render::detached(&run, json)),
            Err(error) => Ok(render::failure(&error, json, Some(&listing))),
        };
    }
    let mut view = RunView::new(json, at_end.parts.is_some(), Some(listing));
    let approver = Approver::of(silent, &mut view);
    let run = ask(async |session| {
        approver.listen(session).await;
        if request.record || request.replay.is_some() {
            session.require("record")?;
        }
        let run = mux_client::start(session, request.clone()).await?;
        view.accepted(&run);
        let watched = mux_client::watch(session, &run, 0, |event| view.show(event));
        let finished = tokio::select! {
            finished = watched => finished?,
            never = approver.answer(session) => match never {},
        };
        Ok((session.clone(), finished.outcome))
    });
    let finished = tokio::select! {
        finished = run => finished?,
        // The daemon ends the run with the connection.
        () = interrupted() => return Ok(view.interrupted("the run was cancelled")),
    };
    match finished {
        Ok((session, outcome)) => finish(&session, view, outcome, at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}

/// Shows how a run ended, and writes its parts to files if that was asked for.
pub(super) async fn finish(
    session: &Session,
    mut view: RunView,
    outcome: RunOutcome,
    at_end: &AtEnd,
    json: bool,
) -> Outcome {
    if let Some(folder) = &at_end.parts {
        let (files, failure) = parts::save(session, folder, view.parts()).await;
        view.saved(&files, failure);
    }
    if let Some(file) = &at_end.recording {
        let written = recording::save(session, file, view.recording()).await;
        view.recorded(file, written);
    }
    if let Some(expected) = &at_end.expected
        && !recording::is_same(session, expected, &outcome).await
    {
        view.differs();
    }
    match view.ended(outcome) {
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
