//! `mux top`: a live view of the daemon.
//!
//! Invariant: this command never starts a daemon. If the daemon exits, the command waits for another. Keys work
//! regardless of the daemon's state.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use crossterm::event::{Event, EventStream};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use mux_client::{Session, within_seconds};
use mux_proto::RunsRequest;
use tokio::time::sleep;

use super::{CommandFailure, CommandResult, connect_if_running, resolve_dirs};
use crate::{
    args,
    exit::unavailable_error,
    render::{self, TopTerminal},
    top::{KeyAction, MetricsReading, ReadingHistory, TopFigures, TopScreen},
};

/// How often the daemon is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of runs that are listed.
const MAX_LISTED_RUNS: usize = 200;

pub(super) async fn top(args: &args::TopArgs, json: bool) -> CommandResult {
    let Some(session) = connect_if_running().await? else {
        render::not_running(&resolve_dirs()?.socket(), json);
        return Ok(ExitCode::from(3));
    };
    let mut history = ReadingHistory::default();
    history.push(take_reading(&session).await?);
    if !json && !args.once && render::can_draw_top() {
        return run_live_view(session, history).await;
    }
    match TopFigures::of(&history) {
        Some(figures) => Ok(render::top_once(&figures, json)),
        None => Err(unavailable_error("muxd reports no metrics".to_owned()).into()),
    }
}

/// The connection for the next poll, and the result of this one.
type PollResult = (Option<Session>, Result<MetricsReading, String>);

struct LiveView {
    history: ReadingHistory,
    screen: TopScreen,
    /// The shown figures, which are older while the view is paused.
    figures: Option<TopFigures>,
    session: Option<Session>,
    /// Why there are no newer figures.
    trouble: Option<String>,
    /// Requests in flight. Each resolves to a note about its result.
    errands: FuturesUnordered<BoxFuture<'static, String>>,
}

async fn run_live_view(session: Session, history: ReadingHistory) -> CommandResult {
    let mut signals =
        TerminationSignals::listen().map_err(|error| unavailable_error(error.to_string()))?;
    let mut terminal = TopTerminal::enter()
        .map_err(|error| unavailable_error(format!("the terminal cannot be used: {error}")))?;
    let mut keys = EventStream::new();
    let mut live = LiveView {
        figures: TopFigures::of(&history),
        history,
        screen: TopScreen::default(),
        session: Some(session.clone()),
        trouble: None,
        errands: FuturesUnordered::new(),
    };
    let mut looking = poll_daemon(Some(session)).boxed();
    let code = loop {
        let figures = live.figures.as_ref();
        let trouble = live.trouble.as_deref();
        if terminal.draw(figures, &live.screen, trouble).is_err() {
            // The terminal no longer exists.
            break 0;
        }
        tokio::select! {
            looked = &mut looking => {
                live.apply_poll(looked);
                looking = poll_daemon(live.session.clone()).boxed();
            }
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) if key.is_press() => {
                    match live.screen.handle_key(key, live.figures.as_ref()) {
                        KeyAction::Nothing => live.show_newest(),
                        KeyAction::Quit => break 0,
                        KeyAction::Interrupt => break 130,
                        KeyAction::Cancel(run) => live.request_cancel(run),
                    }
                }
                // The next draw has the new size.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break 0,
            },
            Some(note) = live.errands.next() => live.screen.note = Some(note),
            code = signals.next() => break code,
        }
    };
    drop(terminal);
    Ok(ExitCode::from(code))
}

impl LiveView {
    fn apply_poll(&mut self, (session, outcome): PollResult) {
        self.session = session;
        match outcome {
            Ok(reading) => {
                self.trouble = None;
                self.history.push(reading);
                self.show_newest();
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Shows the newest figures, unless the view is paused.
    fn show_newest(&mut self) {
        if !self.screen.paused {
            self.figures = TopFigures::of(&self.history);
        }
    }

    fn request_cancel(&mut self, run: String) {
        let Some(session) = self.session.clone() else {
            self.screen.note = Some("no muxd is running".into());
            return;
        };
        let errand = async move {
            let answer = session.client.cancel_run(within_seconds(10), run.clone());
            match answer.await {
                Ok(Ok(())) => format!("run {} is being stopped", render::run_number(&run)),
                Ok(Err(error)) => error.message,
                Err(error) => format!("cannot reach muxd: {error}"),
            }
        };
        self.errands.push(errand.boxed());
    }
}

/// Polls the daemon after [`POLL_INTERVAL`], on the existing connection or a new one.
async fn poll_daemon(session: Option<Session>) -> PollResult {
    sleep(POLL_INTERVAL).await;
    let session = match session {
        Some(session) => session,
        None => match connect_if_running().await {
            Ok(Some(session)) => session,
            Ok(None) => return (None, Err("no muxd is running; waiting for one".into())),
            Err(failure) => return (None, Err(failure.error.message)),
        },
    };
    match take_reading(&session).await {
        Ok(reading) => (Some(session), Ok(reading)),
        Err(failure) => (None, Err(failure.error.message)),
    }
}

async fn take_reading(session: &Session) -> Result<MetricsReading, CommandFailure> {
    let request = RunsRequest {
        running: true,
        limit: Some(MAX_LISTED_RUNS),
    };
    let metrics = session.client.metrics(within_seconds(10));
    let runs = session.client.runs(within_seconds(10), request);
    let (metrics, runs) = tokio::join!(metrics, runs);
    Ok(MetricsReading {
        at: Instant::now(),
        pid: session.welcome.pid,
        metrics: metrics??,
        runs: runs??.runs,
    })
}

/// The signals that end the program, as exit codes.
#[cfg(unix)]
struct TerminationSignals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl TerminationSignals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ]))
    }

    async fn next(&mut self) -> u8 {
        let [hangup, interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = hangup.recv() => 129,
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        }
    }
}

#[cfg(not(unix))]
struct TerminationSignals;

#[cfg(not(unix))]
impl TerminationSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> u8 {
        super::wait_for_ctrl_c().await;
        130
    }
}
