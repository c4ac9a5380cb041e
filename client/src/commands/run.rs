//! `mux run` and `mux check`.

use mux_client::within_seconds;
use mux_proto::{CheckRequest, Outcome as RunOutcome, RunRequest};

use super::{Failure, Outcome, ask, session, source, usage};
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
    let request = RunRequest {
        source: listing.text.clone(),
        input,
        timeout_ms: args
            .timeout
            .map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX)),
        traceparent: None,
    };
    let mut view = RunView::new(json);
    let run = ask(async |session| {
        mux_client::run(session, request.clone(), |event| view.show(event)).await
    });
    let finished = tokio::select! {
        finished = run => finished?,
        // The daemon ends the run with the connection.
        () = interrupted() => return Ok(view.interrupted()),
    };
    match finished {
        Ok(finished) => match finished.outcome {
            RunOutcome::Result(value) => Ok(view.result(&finished.run, &value)),
            RunOutcome::Error(error) => Ok(view.failed(&finished.run, &error, &listing)),
        },
        Err(error) => Ok(view.failed("", &error, &listing)),
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
    Ok(render::diagnostics(&found.errors, &listing, json))
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
