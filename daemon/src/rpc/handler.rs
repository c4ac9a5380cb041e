//! One client's requests.
//!
//! Invariant: nothing is answered before `hello`, and what a connection started ends with it.

use std::{sync::Arc, time::Duration};

use mux_proto::{self as wire, Kind};
use mux_sandbox::Target;
use serde_json::Value;
use tarpc::context::Context;
use tracing::{debug, info, warn};

use super::{catalog, convert, door::Door, runs};
use crate::{
    gateway::{Arguments, Call, CallObserver},
    runs::{Happening, Program},
    state::Daemon,
};

/// About how many bytes of events go into one page; a frame has room for much more.
const PAGE: usize = 1 << 20;
/// The longest that one poll waits.
const POLL: Duration = Duration::from_secs(30);

/// The service of one connection.
#[derive(Clone)]
pub(super) struct Connection(Arc<Door>);

impl Connection {
    pub(super) fn new(door: Arc<Door>) -> Self {
        Self(door)
    }

    /// The daemon, once it knows its servers.
    async fn configured(&self) -> Result<&Arc<Daemon>, wire::Error> {
        let daemon = self.daemon()?;
        daemon.configured().await;
        Ok(daemon)
    }

    fn daemon(&self) -> Result<&Arc<Daemon>, wire::Error> {
        self.0.open().ok_or_else(|| {
            let message = "`hello` comes first on every connection";
            wire::Error::new(Kind::Internal, message)
        })
    }
}

impl wire::Mux for Connection {
    async fn hello(self, _: Context, hello: wire::Hello) -> Result<wire::Welcome, wire::Error> {
        info!(
            client = hello.client.name,
            version = hello.client.version,
            "hello"
        );
        if !self.0.greet(hello) {
            return Err(wire::Error::new(Kind::Unavailable, "this muxd is ending")
                .hint("connect again: the next one is on its way"));
        }
        Ok(wire::Welcome {
            contract: wire::version::CONTRACT,
            build: wire::version::BUILD.into(),
            pid: std::process::id(),
            features: wire::version::FEATURES
                .iter()
                .map(|f| (*f).to_owned())
                .collect(),
        })
    }

    async fn retire(self, _: Context, reason: String) -> Result<(), wire::Error> {
        let daemon = self.daemon()?;
        info!(reason, "asked to retire");
        daemon.shutdown.request();
        Ok(())
    }

    async fn status(self, _: Context) -> Result<wire::Status, wire::Error> {
        let daemon = self.daemon()?;
        let workers = daemon.runs.pool().status();
        let counts = daemon.runs.counts();
        let mut problems = daemon.problems();
        problems.extend(workers.problem);
        let cache = daemon.gateway.upstreams().catalog().cache();
        problems.extend(cache.and_then(|cache| cache.status().problem));
        Ok(wire::Status {
            build: wire::version::BUILD.into(),
            contract: wire::version::CONTRACT,
            pid: std::process::id(),
            engine: workers.engine,
            uptime_ms: convert::millis(daemon.started.elapsed()),
            rss_bytes: resident_bytes(),
            clients: daemon.activity.clients(),
            workers: wire::WorkerStatus {
                ready: workers.ready,
                busy: workers.busy,
                starting: workers.starting,
                waiting: workers.waiting,
                layers: workers.layers,
                snapshot: workers.snapshot,
            },
            checker: convert::checker(daemon.runs.inspector().status()),
            runs: wire::RunCounts {
                running: counts.running,
                succeeded: counts.succeeded,
                failed: counts.failed,
            },
            servers: servers(daemon),
            config: daemon.places.config.clone(),
            socket: daemon.places.socket.clone(),
            log: daemon.places.log.clone(),
            problems,
        })
    }

    async fn start_run(
        self,
        _: Context,
        request: wire::RunRequest,
    ) -> Result<wire::RunStarted, wire::Error> {
        let daemon = self.configured().await?;
        let program = Program {
            source: request.source,
            input: request.input.to_string(),
            wall: request.timeout_ms.map(Duration::from_millis),
            turn: self.0.turn(),
            origin: self.0.origin(),
            check: !request.no_check,
            detached: request.detach.then(|| daemon.activity.detached()),
        };
        let run = daemon.runs.start(program).map_err(convert::error)?;
        self.0.owns(&run);
        let run = run.id.clone();
        Ok(wire::RunStarted { run })
    }

    async fn events(
        self,
        _: Context,
        request: wire::EventsRequest,
    ) -> Result<wire::EventPage, wire::Error> {
        let run = self
            .daemon()?
            .runs
            .find(&request.run)
            .map_err(convert::error)?;
        let wait = Duration::from_millis(request.wait_ms).min(POLL);
        let events = run.events.after(request.after, wait, PAGE).await;
        if matches!(
            events.last().map(|event| &event.what),
            Some(Happening::Ended(_))
        ) {
            self.0.heard(&run);
        }
        Ok(wire::EventPage {
            events: events.into_iter().map(convert::event).collect(),
        })
    }

    async fn cancel_run(self, _: Context, run: String) -> Result<(), wire::Error> {
        self.daemon()?
            .runs
            .find(&run)
            .map_err(convert::error)?
            .cancel();
        Ok(())
    }

    async fn check(
        self,
        _: Context,
        request: wire::CheckRequest,
    ) -> Result<wire::Diagnostics, wire::Error> {
        let (turn, origin) = (self.0.turn(), self.0.origin());
        let runs = &self.configured().await?.runs;
        let found = runs.check(request.source, origin.agent.as_deref(), &turn);
        found.await.map(convert::inspection).map_err(convert::error)
    }

    async fn call(self, _: Context, request: wire::CallRequest) -> Result<wire::Held, wire::Error> {
        let call = Call {
            target: Target::Path {
                path: request.path,
                raw: request.raw,
            },
            arguments: match (request.arguments, request.typed) {
                (Value::Null, typed) => Arguments::Typed(typed),
                (object, _) => Arguments::Json(object.to_string().into()),
            },
            within: request.timeout_ms.map(Duration::from_millis),
            turn: self.0.turn(),
        };
        let daemon = self.configured().await?;
        let _admitted = daemon.runs.admit().map_err(convert::error)?;
        let text = daemon
            .gateway
            .call(call, &Unheard)
            .await
            .map_err(convert::error)?;
        let held = daemon.handles.hold(text, "the result").await;
        let (held, word) = held.map_err(convert::error)?;
        if let Some(word) = word {
            warn!(word, "a result is sent as it is");
        }
        convert::held(held)
    }

    async fn tools(
        self,
        _: Context,
        request: wire::ToolsRequest,
    ) -> Result<wire::ToolList, wire::Error> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::tools(upstreams, request)
            .await
            .map_err(convert::error)
    }

    async fn types(self, _: Context, request: wire::TypesRequest) -> Result<String, wire::Error> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::types(upstreams, request)
            .await
            .map_err(convert::error)
    }

    async fn servers(self, _: Context) -> Result<Vec<wire::ServerInfo>, wire::Error> {
        Ok(servers(self.configured().await?))
    }

    async fn restart_server(
        self,
        _: Context,
        name: String,
    ) -> Result<wire::ServerInfo, wire::Error> {
        let server = self
            .configured()
            .await?
            .gateway
            .upstreams()
            .find(&name)
            .map_err(convert::error)?;
        server.restart().await.map_err(convert::error)?;
        Ok(convert::server(&server))
    }

    async fn reload(self, _: Context) -> Result<wire::ReloadReport, wire::Error> {
        let daemon = self.daemon()?;
        let (changes, problems) = daemon.reload().await.map_err(|problem| {
            wire::Error::new(Kind::Validation, problem)
                .hint("the last good configuration stays in force")
        })?;
        Ok(convert::reload(changes, problems))
    }

    async fn stop(self, _: Context, request: wire::StopRequest) -> Result<(), wire::Error> {
        let daemon = self.daemon()?;
        debug!(now = request.now, "asked to stop");
        if request.now {
            daemon.shutdown.request_now();
        } else {
            daemon.shutdown.request();
        }
        Ok(())
    }

    async fn runs(
        self,
        _: Context,
        request: wire::RunsRequest,
    ) -> Result<wire::RunList, wire::Error> {
        Ok(runs::list(&self.daemon()?.runs, &request))
    }

    async fn run_info(self, _: Context, run: String) -> Result<wire::RunInfo, wire::Error> {
        let run = self.daemon()?.runs.find(&run).map_err(convert::error)?;
        Ok(convert::run(run.view()))
    }

    async fn read(
        self,
        _: Context,
        request: wire::ReadRequest,
    ) -> Result<wire::ReadPage, wire::Error> {
        let handles = &self.daemon()?.handles;
        let page = handles.read(&request.handle, request.offset, request.length);
        page.await.map(convert::page).map_err(convert::error)
    }

    async fn watch_types(
        self,
        _: Context,
        request: wire::WatchTypesRequest,
    ) -> Result<wire::TypesPage, wire::Error> {
        let upstreams = self.configured().await?.gateway.upstreams();
        let wait = Duration::from_millis(request.wait_ms).min(POLL);
        Ok(catalog::watch_types(upstreams, request.known.as_deref(), wait).await)
    }

    async fn forget_types(
        self,
        _: Context,
        request: wire::ForgetTypesRequest,
    ) -> Result<wire::Forgotten, wire::Error> {
        let upstreams = self.configured().await?.gateway.upstreams();
        catalog::forget_types(upstreams, &request.paths).map_err(convert::error)
    }
}

fn servers(daemon: &Daemon) -> Vec<wire::ServerInfo> {
    daemon
        .gateway
        .upstreams()
        .all()
        .iter()
        .map(|server| convert::server(server))
        .collect()
}

/// For a call that nobody watches.
struct Unheard;

impl CallObserver for Unheard {
    fn server_starting(&self, _server: &str) {}

    fn server_ready(&self, _server: &str, _took: Duration) {}

    fn call_started(&self, _path: &str) -> u32 {
        0
    }

    fn call_ended(
        &self,
        _call: u32,
        _path: &str,
        _took: Duration,
        _outcome: Result<usize, &mux_sandbox::Fault>,
    ) {
    }
}

/// Resident memory of this process.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
