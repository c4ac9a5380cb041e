//! `mux program`.

use mux_client::within_seconds;
use mux_proto::{ExplainRequest, Language};

use super::{CommandFailure, CommandResult, ask, program_source, run};
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
    let args = args::RunArgs {
        source: args.source,
        input: args.input,
        timeout: args.timeout,
        no_check: args.no_check,
        detach: args.detach,
        record: args.record,
        parts: args::SavePartsArgs::default(),
        trace: args.trace,
    };
    run::run_program(args, listing, Language::Json, json).await
}

async fn explain_program(listing: ProgramListing, json: bool) -> CommandResult {
    let request = ExplainRequest {
        source: listing.text.clone(),
    };
    let explained = ask(async |client| {
        let within = within_seconds(30);
        client.explain_program(within, request.clone()).await
    });
    match explained.await {
        Ok(explained) => Ok(render::explained(&explained, json)),
        Err(failure) => Err(CommandFailure {
            source: Some(listing),
            ..failure
        }),
    }
}
