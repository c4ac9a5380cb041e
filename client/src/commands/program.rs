//! `mux program`.

use mux_client::within_seconds;
use mux_proto::{ExplainRequest, Language, RunRequest};

use super::{
    CommandFailure, CommandResult, input, program_source, request_with_retry, run, trace_context,
};
use crate::{
    args,
    render::{self, ProgramListing},
};

const STEPS_HINT: &str = "pass a JSON file, the steps with -e JSON, or - for standard input";

pub(super) async fn program(args: args::ProgramArgs, json: bool) -> CommandResult {
    let listing = program_source::read_source(&args.source).map_err(|mut failure| {
        if failure.is_usage {
            failure.error.hint = Some(STEPS_HINT.to_owned());
        }
        failure
    })?;
    if args.explain {
        return explain_program(listing, json).await;
    }
    let silent = json || args.source.is_stdin() || input::takes_stdin(&args.input);
    let input = run::read_program_input(&args.input, &args.source)?;
    let at_end = run::RunEndActions {
        recording: args.record,
        ..run::RunEndActions::default()
    };
    at_end.check_paths()?;
    let (traceparent, tracestate) = trace_context::read_trace_context(args.trace);
    let request = RunRequest {
        source: listing.text.clone(),
        name: program_source::file_name(&args.source),
        language: Language::Json,
        input: input.into(),
        traceparent,
        tracestate,
        timeout_ms: run::duration_millis(args.timeout),
        detach: args.detach,
        no_check: args.no_check,
        record: at_end.recording.is_some(),
        ..RunRequest::default()
    };
    run::execute_run(request, listing, &at_end, (json, silent)).await
}

async fn explain_program(listing: ProgramListing, json: bool) -> CommandResult {
    let request = ExplainRequest {
        source: listing.text.clone(),
    };
    let explained = request_with_retry(async |session| {
        let asked = session
            .client
            .explain_program(within_seconds(30), request.clone());
        asked.await.map_err(mux_client::rpc_error)?
    });
    match explained.await? {
        Ok(explained) => Ok(render::explained(&explained, json)),
        Err(error) => Err(CommandFailure {
            source: Some(listing),
            ..error.into()
        }),
    }
}
