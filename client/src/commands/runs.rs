//! `mux runs`: the current and past runs of the daemon, started by any client.
//!
//! Invariant: a daemon is started only to read what outlives a daemon: past runs and stored values.

use std::process::ExitCode;

use mux_client::{Session, ValuePages, rpc_error, within_seconds};
use mux_proto::{
    Event, EventKind, EventsRequest, Kind, Outcome as RunOutcome, ReadRequest, RunInfo,
    RunJournalRequest, RunList, RunState, RunsRequest, endpoint::Dirs,
};

use super::{
    CommandFailure, CommandResult, audit, connect_if_running, connect_or_start, resolve_dirs,
    run::{RunEndActions, finish_run},
    stored_value, wait_for_ctrl_c,
};
use crate::{
    args::{self, RunsCommand},
    render::{self, CancelledRun, RunView},
};

pub(super) async fn runs(args: args::RunsArgs, json: bool) -> CommandResult {
    let command = args.command.unwrap_or(RunsCommand::List(args.list));
    let session = if may_be_kept(&command, &resolve_dirs()?) {
        connect_or_start().await?
    } else if let Some(session) = connect_if_running().await? {
        session
    } else if let RunsCommand::List(args) = command {
        // Without a daemon nothing runs, and an empty list is a normal result.
        let none = RunList {
            runs: Vec::new(),
            total: 0,
        };
        return Ok(render::show(&none, json, |list| {
            render::runs(list, args.running);
        }));
    } else {
        render::not_running(&resolve_dirs()?.socket(), json);
        note_audit_log()?;
        return Ok(ExitCode::from(3));
    };
    match command {
        RunsCommand::List(args) => list_runs(&session, &args, json).await,
        RunsCommand::Show { run } => show_run(&session, run, json).await,
        RunsCommand::Watch(args) => watch_run(&session, args, json).await,
        RunsCommand::Cancel { runs } => cancel_runs(&session, runs, json).await,
        RunsCommand::Read(args) => read_stored_value(&session, args, json).await,
    }
}

/// True if a new daemon can have what the command shows.
fn may_be_kept(command: &RunsCommand, dirs: &Dirs) -> bool {
    match command {
        RunsCommand::Read(_) => true,
        RunsCommand::Show { .. } => dirs.history().exists(),
        RunsCommand::List(args) => !args.running && dirs.history().exists(),
        RunsCommand::Watch(_) | RunsCommand::Cancel { .. } => false,
    }
}

async fn list_runs(session: &Session, args: &args::RunsListArgs, json: bool) -> CommandResult {
    let request = RunsRequest {
        running: args.running,
        limit: args.limit,
    };
    let list = session.client.runs(within_seconds(10), request).await??;
    let code = render::show(&list, json, |list| render::runs(list, args.running));
    if list.runs.is_empty() && !args.running && !json {
        note_audit_log()?;
    }
    Ok(code)
}

/// Says what else has calls.
fn note_audit_log() -> Result<(), CommandFailure> {
    if audit::has_audit_log(&resolve_dirs()?) {
        render::note("`mux audit` lists all calls, without arguments and results");
    }
    Ok(())
}

async fn fetch_run_info(session: &Session, run: String) -> Result<RunInfo, CommandFailure> {
    Ok(session.client.run_info(within_seconds(10), run).await??)
}

async fn show_run(session: &Session, run: String, json: bool) -> CommandResult {
    // Requested after the events, and therefore not older than the events.
    let mut events = fetch_events(session, &run).await?;
    let info = fetch_run_info(session, run).await?;
    let is_over = matches!(info.state, RunState::Succeeded | RunState::Failed);
    let is_whole = matches!(
        events.last().map(|event| &event.event),
        Some(EventKind::Ended { .. })
    );
    if is_over && !is_whole {
        events = fetch_events(session, &info.run).await?;
    }
    let request = RunJournalRequest {
        run: info.run.clone(),
        call: None,
    };
    // The history may be off, or may not have the run.
    let journal = session.client.run_journal(within_seconds(30), request);
    let journal = journal.await?.ok();
    Ok(render::run(&info, &events, journal.as_ref(), json))
}

async fn fetch_events(session: &Session, run: &str) -> Result<Vec<Event>, CommandFailure> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let request = EventsRequest {
            run: run.to_owned(),
            after: events.last().map_or(0, |event| event.seq),
            wait_ms: 0,
        };
        let page = session.client.events(within_seconds(30), request);
        let page = page.await??.events;
        let over = page
            .last()
            .is_none_or(|event| matches!(event.event, EventKind::Ended { .. }));
        events.extend(page);
        if over {
            return Ok(events);
        }
    }
}

async fn watch_run(session: &Session, args: args::WatchArgs, json: bool) -> CommandResult {
    let at_end = RunEndActions::with_saved_parts(args.parts);
    at_end.check_paths()?;
    // The daemon resolves the number of a run to its whole id.
    let run = fetch_run_info(session, args.run).await?.run;
    let mut view = RunView::new(
        json,
        at_end.parts.is_some(),
        render::ProgramListing::without_source(),
    );
    view.accepted(&run);
    let watched = mux_client::watch(session, &run, args.after, |event| view.show(event));
    let finished = tokio::select! {
        finished = watched => finished,
        () = wait_for_ctrl_c() => {
            let goes_on = format!("the run continues; `mux runs cancel {}` stops it", render::run_number(&run));
            return Ok(view.interrupted(&goes_on));
        }
    };
    match finished {
        Ok(finished) => finish_run(session, view, finished.outcome, &at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}

/// Cancels the runs, and returns when they have ended.
async fn cancel_runs(session: &Session, runs: Vec<String>, json: bool) -> CommandResult {
    // A run that does not exist is reported before any is cancelled.
    let mut found = Vec::new();
    for run in runs {
        found.push(fetch_run_info(session, run).await?);
    }
    let mut results = Vec::new();
    for run in found {
        let request = session
            .client
            .cancel_run(within_seconds(10), run.run.clone());
        request.await??;
        let open = matches!(run.state, RunState::Waiting | RunState::Running);
        let ended = mux_client::watch(session, &run.run, run.events, |_| {}).await?;
        let cancelled = matches!(
            &ended.outcome,
            RunOutcome::Error(error) if error.kind == Kind::Cancelled
        );
        results.push(CancelledRun {
            info: fetch_run_info(session, run.run).await?,
            cancelled: open && cancelled,
        });
    }
    Ok(render::cancelled(&results, json))
}

async fn read_stored_value(session: &Session, args: args::ReadArgs, json: bool) -> CommandResult {
    if !json {
        let pages = ValuePages::new(session, &args.handle, args.offset, args.length);
        return stored_value::print_stored_text(pages).await;
    }
    let request = ReadRequest {
        handle: args.handle,
        offset: args.offset,
        length: args.length,
    };
    let page = session.client.read(within_seconds(30), request).await;
    let page = page.map_err(rpc_error)??;
    Ok(render::page(&page))
}
