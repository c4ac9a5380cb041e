//! `mux run` and `mux check`.

use std::{path::PathBuf, time::Duration};

use mux_client::{Session, within_seconds};
use mux_proto::{CheckRequest, Language, Outcome as RunOutcome, RunRequest};
use serde_json::Value;

use super::{
    CommandResult, UsageMistake, connect_or_start,
    input::{self, GivenInput, InputWording},
    part_files, program_source, recording_files, request_with_retry, setup, stored_value,
    terminal_questions::TerminalQuestions,
    trace_context, wait_for_ctrl_c,
};
use crate::{
    args,
    render::{self, ProgramListing, RunView},
};

const PROGRAM_INPUT: InputWording = InputWording {
    subject: "--input is",
    hint: "pass quoted JSON, key=value, @FILE, or - for standard input:\n\
        --input '{\"n\": 1}', or --input n=1 --input name=x, or --input @input.json",
};

pub(super) async fn run(args: args::RunArgs, json: bool) -> CommandResult {
    let listing = program_source::read_source(&args.source)?;
    run_program(args, listing, Language::default(), json).await
}

pub(super) async fn run_program(
    args: args::RunArgs,
    listing: ProgramListing,
    language: Language,
    json: bool,
) -> CommandResult {
    let input = read_program_input(&args.input, &args.source)?;
    let silent = json || args.source.is_stdin() || input::takes_stdin(&args.input);
    let at_end = RunEndActions {
        recording: args.record,
        ..RunEndActions::with_saved_parts(args.parts)
    };
    at_end.check_paths()?;
    let (traceparent, tracestate) = trace_context::read_trace_context(args.trace);
    let request = RunRequest {
        source: listing.text.clone(),
        name: program_source::file_name(&args.source),
        language,
        input: input.into(),
        traceparent,
        tracestate,
        timeout_ms: duration_millis(args.timeout),
        detach: args.detach,
        no_check: args.no_check,
        record: at_end.recording.is_some(),
        ..RunRequest::default()
    };
    self::execute_run(request, listing, &at_end, (json, silent)).await
}

/// The actions at the end of a run.
#[derive(Debug, Default)]
pub(super) struct RunEndActions {
    /// The directory to which its parts are written.
    pub(super) parts: Option<PathBuf>,
    /// The file to which its recording is written.
    pub(super) recording: Option<PathBuf>,
    /// The recorded outcome that it must have.
    pub(super) expected: Option<Value>,
}

impl RunEndActions {
    pub(super) fn with_saved_parts(parts: args::SavePartsArgs) -> Self {
        Self {
            parts: parts.save_parts,
            ..Self::default()
        }
    }

    /// Checks the paths before the program runs, because a wrong name should fail early.
    pub(super) fn check_paths(&self) -> Result<(), UsageMistake> {
        if let Some(folder) = &self.parts {
            part_files::prepare_parts_dir(folder)?;
        }
        self.recording
            .as_deref()
            .map_or(Ok(()), recording_files::prepare_recording)
    }
}

/// The value of `--input`.
fn read_program_input(words: &[String], source: &args::SourceArgs) -> Result<Value, UsageMistake> {
    if source.is_stdin() && input::takes_stdin(words) {
        let message = "standard input is the program, so it cannot also be --input";
        return Err(UsageMistake::new(message, "use a file for one of them"));
    }
    match input::read_input(words, &PROGRAM_INPUT)? {
        GivenInput::Nothing => Ok(Value::Null),
        GivenInput::Json(value) => Ok(value),
        GivenInput::Pairs(pairs) => input::guess_types(pairs, &PROGRAM_INPUT),
    }
}

pub(super) fn duration_millis(time: Option<Duration>) -> Option<u64> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Starts a run, and shows it to its end unless it is detached. If `silent`, no questions are asked at the
/// terminal.
pub(super) async fn execute_run(
    request: RunRequest,
    listing: ProgramListing,
    at_end: &RunEndActions,
    (json, silent): (bool, bool),
) -> CommandResult {
    if request.detach {
        let questions = TerminalQuestions::for_detached_run(silent);
        let started = request_with_retry(async |session| {
            questions.announce(session).await;
            mux_client::start(session, request.clone()).await
        });
        return match started.await? {
            Ok(run) => Ok(render::detached(&run, json)),
            Err(error) => Ok(render::failure(&error, json, Some(&listing))),
        };
    }
    let mut view = RunView::new(json, at_end.parts.is_some(), listing);
    let questions = TerminalQuestions::for_run(silent, &mut view);
    let run = request_with_retry(async |session| {
        questions.announce(session).await;
        let run = mux_client::start(session, request.clone()).await?;
        view.accepted(&run);
        let watched = mux_client::watch(session, &run, 0, |event| view.show(event));
        let finished = tokio::select! {
            finished = watched => finished?,
            never = questions.answer_all(session) => match never {},
        };
        questions.print_late_notices(session).await;
        Ok((session.clone(), finished.outcome))
    });
    let finished = tokio::select! {
        finished = run => finished?,
        // The daemon ends the run with the connection.
        () = wait_for_ctrl_c() => return Ok(view.interrupted("the run was cancelled")),
    };
    match finished {
        Ok((session, outcome)) => finish_run(&session, view, outcome, at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}

/// Shows how a run ended, and writes its parts to files if that was asked for.
pub(super) async fn finish_run(
    session: &Session,
    mut view: RunView,
    outcome: RunOutcome,
    at_end: &RunEndActions,
    json: bool,
) -> CommandResult {
    if let Some(folder) = &at_end.parts {
        view.saved(part_files::save_parts(session, folder, view.parts()).await);
    }
    if let Some(file) = &at_end.recording {
        let written = recording_files::save_recording(session, file, view.recording()).await;
        view.recorded(file, written);
    }
    let mut is_verified = false;
    if let Some(expected) = &at_end.expected {
        let difference = recording_files::outcome_difference(session, expected, &outcome).await;
        is_verified = difference.is_none();
        view.verified(difference);
    }
    let why_unchecked = view.why_unchecked().map(str::to_owned);
    let code = match view.ended(outcome) {
        RunOutcome::Result(value) => view.result(value),
        RunOutcome::Error(error) => view.failed(&error),
        RunOutcome::Stored(handle) if json => view.stored(&handle),
        RunOutcome::Stored(handle) => {
            let failure = view.finish_before_stored();
            let code = stored_value::print_stored_value(session, &handle).await?;
            match failure {
                Some(error) => return Err(error.into()),
                None => code,
            }
        }
    };
    if is_verified && !json {
        render::note("the run ends as recorded");
    }
    if let Some(why) = why_unchecked {
        setup::offer_compiler(&why).await;
    }
    Ok(code)
}

pub(super) async fn check_source(args: args::SourceArgs, json: bool) -> CommandResult {
    let listing = program_source::read_source(&args)?;
    let request = CheckRequest {
        source: listing.text.clone(),
    };
    let session = connect_or_start().await?;
    let found = session.client.check(within_seconds(30), request).await??;
    Ok(render::diagnostics(&found, &listing, json))
}
