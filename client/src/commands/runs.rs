//! `mux runs`: the current and past runs of the daemon, started by any client.
//!
//! Invariant: only `mux runs read` starts a daemon: a new one has no runs, but stored values outlive a daemon.

use std::process::ExitCode;

use mux_client::{Pages, Session, lost, within_seconds};
use mux_proto::{
    Event, EventKind, EventsRequest, Kind, Outcome as RunOutcome, ReadRequest, RunInfo, RunState,
    RunsRequest,
};

use super::{
    Failure, Outcome, dirs, interrupted,
    run::{AtEnd, finish},
    running, session, stored, usage,
};
use crate::{
    args::{self, RunsCommand},
    render::{self, RunView},
};

pub(super) async fn runs(args: args::Runs, json: bool) -> Outcome {
    let command = args.command.unwrap_or(RunsCommand::List(args.list));
    let session = match &command {
        RunsCommand::Read(_) => session().await?,
        _ => match running().await? {
            Some(session) => session,
            None => {
                render::not_running(&dirs()?.socket(), json);
                return Ok(ExitCode::from(3));
            }
        },
    };
    match command {
        RunsCommand::List(args) => list(&session, &args, json).await,
        RunsCommand::Show { run } => show(&session, run, json).await,
        RunsCommand::Watch(args) => watch(&session, args, json).await,
        RunsCommand::Cancel { runs } => cancel(&session, runs, json).await,
        RunsCommand::Read(args) => read(&session, args, json).await,
    }
}

async fn list(session: &Session, args: &args::ListRuns, json: bool) -> Outcome {
    session.require("runs")?;
    let request = RunsRequest {
        running: args.running,
        limit: args.limit,
    };
    let list = session.client.runs(within_seconds(10), request).await?;
    let list = list.map_err(Failure::from)?;
    Ok(render::runs(&list, args.running, json))
}

async fn info(session: &Session, run: String) -> Result<RunInfo, Failure> {
    session.require("run_info")?;
    let info = session.client.run_info(within_seconds(10), run).await?;
    info.map_err(Failure::from)
}

async fn show(session: &Session, run: String, json: bool) -> Outcome {
    // Requested after the events, so that it is not older than they are.
    let mut events = events_so_far(session, &run).await?;
    let info = info(session, run).await?;
    let is_over = matches!(info.state, RunState::Succeeded | RunState::Failed);
    let is_whole = matches!(
        events.last().map(|event| &event.event),
        Some(EventKind::Ended { .. })
    );
    if is_over && !is_whole {
        events = events_so_far(session, &info.run).await?;
    }
    Ok(render::run(&info, &events, json))
}

async fn events_so_far(session: &Session, run: &str) -> Result<Vec<Event>, Failure> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let request = EventsRequest {
            run: run.to_owned(),
            after: events.last().map_or(0, |event| event.seq),
            wait_ms: 0,
        };
        let page = session.client.events(within_seconds(30), request).await?;
        let page = page.map_err(Failure::from)?.events;
        let over = page
            .last()
            .is_none_or(|event| matches!(event.event, EventKind::Ended { .. }));
        events.extend(page);
        if over {
            return Ok(events);
        }
    }
}

async fn watch(session: &Session, args: args::Watch, json: bool) -> Outcome {
    let at_end = AtEnd::saving(args.parts);
    if let Err((message, hint)) = at_end.prepare() {
        return usage(message, hint, json);
    }
    // The daemon resolves the number of a run to its whole id.
    let run = info(session, args.run).await?.run;
    let mut view = RunView::new(json, at_end.parts.is_some(), None);
    view.accepted(&run);
    let watched = mux_client::watch(session, &run, args.after, |event| view.show(event));
    let finished = tokio::select! {
        finished = watched => finished,
        () = interrupted() => {
            let goes_on = format!("the run goes on; `mux runs cancel {run}` stops it");
            return Ok(view.interrupted(&goes_on));
        }
    };
    match finished {
        Ok(finished) => finish(session, view, finished.outcome, &at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}

/// Cancels the runs, and returns when they have ended.
async fn cancel(session: &Session, runs: Vec<String>, json: bool) -> Outcome {
    // A run that does not exist is reported before any is cancelled.
    let mut found = Vec::new();
    for run in runs {
        found.push(info(session, run).await?);
    }
    let mut told = Vec::new();
    for run in found {
        let request = session
            .client
            .cancel_run(within_seconds(10), run.run.clone());
        request.await?.map_err(Failure::from)?;
        let open = matches!(run.state, RunState::Waiting | RunState::Running);
        let ended = mux_client::watch(session, &run.run, run.events, |_| {}).await?;
        let cancelled = matches!(
            &ended.outcome,
            RunOutcome::Error(error) if error.kind == Kind::Cancelled
        );
        told.push((info(session, run.run).await?, open && cancelled));
    }
    Ok(render::cancelled(&told, json))
}

async fn read(session: &Session, args: args::Read, json: bool) -> Outcome {
    if !json {
        let pages = Pages::new(session, &args.handle, args.offset, args.length);
        return stored::print_text(pages).await;
    }
    session.require("read")?;
    let request = ReadRequest {
        handle: args.handle.clone(),
        offset: args.offset,
        length: args.length,
    };
    let page = session.client.read(within_seconds(30), request).await;
    let page = page.map_err(lost)?.map_err(Failure::from)?;
    Ok(render::page(&args.handle, &page))
}
