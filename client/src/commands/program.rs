//! `mux program`.

use mux_client::within_seconds;
use mux_proto::{ExplainRequest, Language, RunRequest};

use super::{Failure, Outcome, ask, run, source, trace, usage};
use crate::{
    args,
    render::{self, Listing},
};

pub(super) async fn program(args: args::Program, json: bool) -> Outcome {
    let listing = match source::read(&args.source)? {
        Ok(listing) => listing,
        Err((message, _)) => {
            return usage(message, "name a JSON file, or - for standard input", json);
        }
    };
    if args.explain {
        return explain(listing, json).await;
    }
    let silent = json || args.source.is_stdin();
    let input = match run::input(args.input.as_deref()) {
        Ok(input) => input,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let at_end = run::AtEnd {
        recording: args.record,
        ..run::AtEnd::default()
    };
    if let Err((message, hint)) = at_end.prepare() {
        return usage(message, hint, json);
    }
    let (traceparent, tracestate) = trace::context(args.trace);
    let request = RunRequest {
        source: listing.text.clone(),
        language: Language::Json,
        input,
        traceparent,
        tracestate,
        timeout_ms: run::millis(args.timeout),
        detach: args.detach,
        no_check: args.no_check,
        record: at_end.recording.is_some(),
        ..RunRequest::default()
    };
    run::request(request, listing, &at_end, (json, silent)).await
}

async fn explain(listing: Listing, json: bool) -> Outcome {
    let request = ExplainRequest {
        source: listing.text.clone(),
    };
    let explained = ask(async |session| {
        session.require("explain_program")?;
        let asked = session
            .client
            .explain_program(within_seconds(30), request.clone());
        asked.await.map_err(mux_client::lost)?
    });
    match explained.await? {
        Ok(explained) => Ok(render::explained(&explained, json)),
        Err(error) => Err(Failure {
            error,
            source: Some(listing),
        }),
    }
}
