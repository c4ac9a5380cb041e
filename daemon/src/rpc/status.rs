//! The daemon's status, as `mux status` shows it.

use futures::future::join_all;
use mux_proto as wire;
use mux_sandbox::resource_remedies;

use super::{connection::ConnectionState, convert};
use crate::{
    daemon::Daemon,
    lifecycle::ServiceManager,
    problems::{ProblemCode, usual_fix},
};
use mux_caller::RunAccess;
use mux_catalog::{ServerWarningCode, imitations};
use mux_process::descriptor_limits;
use mux_process::process_stats::resident_bytes;

pub(super) async fn daemon_status(daemon: &Daemon, connection: &ConnectionState) -> wire::Status {
    let workers = daemon.runs.pool().status();
    let mut problems = daemon.problems();
    problems.extend(
        connection
            .notes()
            .into_iter()
            .map(|note| ProblemCode::Client.with(note)),
    );
    let cache = daemon.gateway.upstreams().catalog().cache();
    let cache = cache.and_then(|cache| cache.status().problem);
    let cache =
        cache.map(|why| format!("the cache lives in memory only, until `mux restart`: {why}"));
    let pins = daemon.gateway.upstreams().pins().problems();
    problems.extend(
        pins.into_iter()
            .map(|problem| ProblemCode::Pins.with(problem)),
    );
    let mut degraded = {
        let environment = daemon.environment.borrow();
        daemon.host_conditions.look(environment.as_ref())
    };
    degraded.extend(daemon.unwatched());
    let coded = [
        (ProblemCode::Workers, workers.problem),
        (ProblemCode::Cache, cache),
        (ProblemCode::Audit, daemon.gateway.audit().problem()),
        (ProblemCode::History, daemon.runs.history().problem()),
    ];
    for (code, problem) in coded {
        let Some(message) = problem else { continue };
        match resource_remedies::remedy_in(&message) {
            Some(fix) => degraded.push(wire::Degraded::new(code.as_str(), message, fix)),
            None => problems.push(code.with(message)),
        }
    }
    let auth = daemon.auth();
    let credentials = auth.credential_problem();
    problems.extend(credentials.map(|problem| ProblemCode::Credentials.with(problem)));
    for problem in problems.iter_mut().filter(|it| it.fix.is_empty()) {
        problem.fix = usual_fix(&daemon.paths.config);
    }
    wire::Status {
        build: wire::version::BUILD.into(),
        contract: wire::version::CONTRACT,
        pid: std::process::id(),
        engine: workers.engine,
        engine_version: workers.engine_version,
        uptime_ms: wire::millis(daemon.started.elapsed()),
        rss_bytes: resident_bytes(std::process::id()),
        clients: daemon.activity.client_count(),
        agents: match connection.access() {
            RunAccess::Everyone => daemon.agents.list(),
            RunAccess::Own(_) => Vec::new(),
        },
        workers: wire::WorkerStatus {
            ready: workers.ready,
            busy: workers.busy,
            starting: workers.starting,
            waiting: workers.waiting,
            layers: workers.layers,
            snapshot: workers.snapshot,
        },
        checker: daemon.runs.inspector().status(),
        runs: daemon.runs.run_totals(),
        servers: servers(daemon, connection).await,
        config: daemon.paths.config.clone(),
        socket: daemon.paths.socket.clone(),
        log: daemon.paths.log.clone(),
        problems,
        degraded,
        tokens: Some(auth.credential_location()),
        started: Some(started_by(&daemon.service)),
        telemetry: Some(daemon.gateway.tracer().status()),
    }
}

/// The conditions of the host that restrict the daemon.
/// The error for requests that need more descriptors than are available.
pub(super) fn descriptors_exhausted() -> wire::Error {
    let allowed = descriptor_limits::allowed().unwrap_or_default();
    let message =
        format!("muxd has all of its {allowed} file descriptors in use, and accepts no more work");
    wire::Error::new(wire::Kind::Busy, message).hint(
        "try again when other clients or runs have ended; a higher limit (`ulimit -n`, LimitNOFILE= of a service) needs \
         `mux restart`",
    )
}

fn started_by(service: &ServiceManager) -> wire::Started {
    wire::Started {
        by: service.starter(),
        service: service.name().map(str::to_owned),
        socket_passed: service.passed().is_some(),
        watchdog_ms: service.watchdog().map(wire::millis),
    }
}

/// The user's servers and the servers of the client's project.
pub(super) async fn servers(
    daemon: &Daemon,
    connection: &ConnectionState,
) -> Vec<wire::ServerInfo> {
    let upstreams = daemon.gateway.upstreams();
    let sight = connection.sight();
    let servers = upstreams.visible_servers(&sight);
    let access = connection.access();
    let servers = servers
        .iter()
        .map(|server| convert::server_info(upstreams, server, &access));
    let mut servers = join_all(servers).await;
    for (name, lookalikes) in imitations(&upstreams.known_visible(&sight)) {
        if let Some(server) = servers.iter_mut().find(|server| server.name == name) {
            let lookalikes = lookalikes.into_iter();
            let lookalikes = lookalikes.map(|text| ServerWarningCode::Other.warning(text));
            convert::add_warnings(server, lookalikes);
        }
    }
    servers.extend(
        daemon
            .disabled()
            .into_iter()
            .map(convert::disabled_server_info),
    );
    for server in &mut servers {
        // A source with an unusable entry has no description status.
        if server.project.is_none() && daemon.is_source(&server.name) {
            server.source.get_or_insert_default();
        }
    }
    servers
}
