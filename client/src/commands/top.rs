//! `mux top`: a live view of the daemon.
//!
//! Invariant: it never starts a daemon; if the daemon exits, it waits for another. Keys work whatever the daemon does.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use crossterm::event::{Event, EventStream};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use mux_client::{Session, within_seconds};
use mux_proto::RunsRequest;
use tokio::time::sleep;

use super::{Failure, Outcome, dirs, running};
use crate::{
    args,
    exit::machinery,
    exposition,
    render::{self, TopTerminal},
    top::{Figures, History, Reading, Screen, Wish},
};

/// How often the daemon is polled.
const BEAT: Duration = Duration::from_secs(1);
/// Maximum number of runs that are listed.
const RUNS: usize = 200;

pub(super) async fn top(args: &args::Top, json: bool) -> Outcome {
    let Some(session) = running().await? else {
        render::not_running(&dirs()?.socket(), json);
        return Ok(ExitCode::from(3));
    };
    let mut history = History::default();
    history.push(read(&session).await?);
    if !json && !args.once && render::can_draw_top() {
        return live(session, history).await;
    }
    match Figures::of(&history) {
        Some(figures) => Ok(render::top_once(&figures, json)),
        None => Err(machinery("muxd reports no metrics".to_owned()).into()),
    }
}

/// The connection for the next poll, and the result of this one.
type Looked = (Option<Session>, Result<Reading, String>);

struct Live {
    history: History,
    screen: Screen,
    /// The figures that are shown; while the view is paused, older ones.
    figures: Option<Figures>,
    session: Option<Session>,
    /// Why there are no newer figures.
    trouble: Option<String>,
    /// Requests in flight; each resolves to a note about its result.
    errands: FuturesUnordered<BoxFuture<'static, String>>,
}

async fn live(session: Session, history: History) -> Outcome {
    let mut signals = Signals::listen().map_err(|error| machinery(error.to_string()))?;
    let mut terminal = TopTerminal::enter()
        .map_err(|error| machinery(format!("the terminal cannot be used: {error}")))?;
    let mut keys = EventStream::new();
    let mut live = Live {
        figures: Figures::of(&history),
        history,
        screen: Screen::default(),
        session: Some(session.clone()),
        trouble: None,
        errands: FuturesUnordered::new(),
    };
    let mut looking = look(Some(session)).boxed();
    let code = loop {
        let (figures, trouble) = (live.figures.as_ref(), live.trouble.as_deref());
        if terminal.draw(figures, &live.screen, trouble).is_err() {
            // The terminal is gone.
            break 0;
        }
        tokio::select! {
            looked = &mut looking => {
                live.looked(looked);
                looking = look(live.session.clone()).boxed();
            }
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) if key.is_press() => {
                    match live.screen.key(key, live.figures.as_ref()) {
                        Wish::Nothing => live.follow(),
                        Wish::Quit => break 0,
                        Wish::Interrupt => break 130,
                        Wish::Cancel(run) => live.cancel(run),
                    }
                }
                // The next draw has the new size.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break 0,
            },
            Some(word) = live.errands.next() => live.screen.note = Some(word),
            code = signals.next() => break code,
        }
    };
    drop(terminal);
    Ok(ExitCode::from(code))
}

impl Live {
    fn looked(&mut self, (session, outcome): Looked) {
        self.session = session;
        match outcome {
            Ok(reading) => {
                self.trouble = None;
                self.history.push(reading);
                self.follow();
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// Shows the newest figures, unless the view is paused.
    fn follow(&mut self) {
        if !self.screen.paused {
            self.figures = Figures::of(&self.history);
        }
    }

    fn cancel(&mut self, run: String) {
        let Some(session) = self.session.clone() else {
            self.screen.note = Some("no muxd is running".into());
            return;
        };
        let errand = async move {
            let told = session.client.cancel_run(within_seconds(10), run.clone());
            match told.await {
                Ok(Ok(())) => format!("{run} is being stopped"),
                Ok(Err(error)) => error.message,
                Err(error) => format!("cannot reach muxd: {error}"),
            }
        };
        self.errands.push(errand.boxed());
    }
}

/// Polls the daemon after [`BEAT`], on the existing connection or a new one.
async fn look(session: Option<Session>) -> Looked {
    sleep(BEAT).await;
    let session = match session {
        Some(session) => session,
        None => match running().await {
            Ok(Some(session)) => session,
            Ok(None) => return (None, Err("no muxd is running; waiting for one".into())),
            Err(failure) => return (None, Err(failure.error.message)),
        },
    };
    match read(&session).await {
        Ok(reading) => (Some(session), Ok(reading)),
        Err(failure) => (None, Err(failure.error.message)),
    }
}

async fn read(session: &Session) -> Result<Reading, Failure> {
    session.require("metrics")?;
    let request = RunsRequest {
        running: true,
        limit: Some(RUNS),
    };
    let metrics = session.client.metrics(within_seconds(10));
    let runs = session.client.runs(within_seconds(10), request);
    let (metrics, runs) = tokio::join!(metrics, runs);
    let text = metrics?.map_err(Failure::from)?.text;
    let runs = runs?.map_err(Failure::from)?.runs;
    let families = exposition::parse(&text).map_err(|error| machinery(error.to_string()))?;
    let daemon = (session.welcome.pid, session.welcome.build.clone());
    Ok(Reading::new(Instant::now(), daemon, &families, runs))
}

/// The signals that end the program, as exit codes.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
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
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> u8 {
        super::interrupted().await;
        130
    }
}
