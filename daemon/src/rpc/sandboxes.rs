//! Server sandboxes: their grants, and observed sessions from which a sandbox is suggested.
//!
//! Invariant: an observed session has no sandbox, and does not outlive the request that began the observation.

use std::{sync::Arc, time::Duration};

use mux_audit::AdminEvent;
use mux_catalog::Scope;
use mux_proto::{self as wire, Kind};
use mux_upstream::{ImplicitGrants, ObservationError, Server};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{connection::ConnectionState, convert};
use crate::daemon::Daemon;

/// The longest observation.
const MAX_OBSERVATION: Duration = Duration::from_hours(1);

pub(super) async fn profile(
    daemon: &Daemon,
    connection: &ConnectionState,
    name: &str,
) -> wire::Result<wire::SandboxProfile> {
    let upstreams = daemon.gateway.upstreams();
    let server = connection.find_server(name)?;
    let info = convert::server_info(upstreams, &server, &connection.access()).await;
    let (Some(sandbox), Some(report)) = (info.sandbox, server.sandbox_report().await) else {
        let message = format!("`{}` has no sandbox: muxd does not start it", server.name());
        return Err(wire::Error::new(Kind::Validation, message)
            .hint("a sandbox is for a server with a `command`; `mux servers` says what each is"));
    };
    let limits = server
        .process()
        .and_then(|process| process.sandbox.sandbox());
    let (problem, grants) = match report.grants {
        Ok(grants) => (None, grants),
        Err(problem) => (Some(problem), ImplicitGrants::default()),
    };
    Ok(wire::SandboxProfile {
        server: server.name().to_owned(),
        sandbox,
        memory: limits.and_then(|sandbox| sandbox.memory),
        processes: limits.map(mux_settings::ServerSandbox::max_processes),
        enforceable: report.layers.into_iter().map(str::to_owned).collect(),
        problem,
        system: grants.system,
        program: grants.program,
        private: grants.private,
        empty_home: grants.has_empty_home,
    })
}

pub(super) async fn suggest(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    request: wire::SuggestSandboxRequest,
) -> wire::Result<wire::SandboxSuggestion> {
    if !connection.access().is_user() {
        let message = "a client for agents cannot take a server out of its sandbox";
        return Err(wire::Error::new(Kind::Denied, message).hint(format!(
            "the user runs `mux servers sandbox {} --suggest`",
            request.server
        )));
    }
    let sight = connection.sight();
    let server = connection.find_server(&request.server)?;
    let failed = |error: ObservationError| {
        let message = format!("`{}` cannot be observed: {error}", server.name());
        wire::Error::new(Kind::Unavailable, message)
    };
    server.begin_observation().map_err(failed)?;
    let observation = RunningObservation {
        daemon: Arc::clone(daemon),
        server: Arc::clone(&server),
        sight,
        is_over: false,
    };
    let ended = CancellationToken::new();
    let running = &daemon.observations;
    running.lock().insert(key(&server), ended.clone());
    info!(
        "observation of `{}` begins: its sessions have no sandbox",
        server.name()
    );
    connection.audit(AdminEvent::ServerObserved, server.name());
    // The tools are listed with the start, and the caller's session is among the observed ones.
    server.restart(&connection.identity()).await?;
    let time = Duration::from_millis(request.observe_ms).min(MAX_OBSERVATION);
    tokio::select! {
        () = ended.cancelled() => {}
        () = tokio::time::sleep(time) => {}
    }
    let mut suggested = observation.end().await.map_err(failed)?;
    if let Some(problem) = server.problem_of_sandbox(&suggested).await {
        let problem = format!("with this sandbox it does not start: {problem}");
        suggested.remarks.push(problem);
    }
    suggested.server = server.name().to_owned();
    Ok(suggested)
}

pub(super) fn end_observation(
    daemon: &Daemon,
    connection: &ConnectionState,
    name: &str,
) -> wire::Result<()> {
    let server = connection.find_server(name)?;
    if let Some(ended) = daemon.observations.lock().get(&key(&server)) {
        ended.cancel();
    }
    Ok(())
}

fn key(server: &Server) -> String {
    let project = server.project().unwrap_or(std::path::Path::new(""));
    format!("{} {}", server.name(), project.display())
}

/// Observes a server while it exists.
struct RunningObservation {
    daemon: Arc<Daemon>,
    server: Arc<Server>,
    sight: Arc<Scope>,
    is_over: bool,
}

impl RunningObservation {
    async fn end(mut self) -> Result<wire::SandboxSuggestion, ObservationError> {
        self.is_over = true;
        let suggested = self.stop();
        // Dropping this future must not leave an observed session behind.
        tokio::spawn(self.replaced_sessions()).await.ok();
        suggested
    }

    fn stop(&self) -> Result<wire::SandboxSuggestion, ObservationError> {
        self.daemon.observations.lock().remove(&key(&self.server));
        self.server.end_observation()
    }

    /// Restarts the server's sessions as the entry says. The definition may have been replaced meanwhile.
    fn replaced_sessions(&self) -> impl Future<Output = ()> + use<> {
        let upstreams = self.daemon.gateway.upstreams();
        let now = upstreams.find_visible(self.server.name(), &self.sight).ok();
        let mut all = vec![Arc::clone(&self.server)];
        all.extend(now.filter(|now| !Arc::ptr_eq(now, &self.server)));
        let name = self.server.name().to_owned();
        async move {
            for server in all {
                server.replace_open_sessions().await;
            }
            info!("observation of `{name}` ends: its sessions were replaced");
        }
    }
}

impl Drop for RunningObservation {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        drop(self.stop());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.replaced_sessions());
        }
    }
}
