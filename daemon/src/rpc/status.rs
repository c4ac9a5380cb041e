//! What `mux status` shows.

use mux_proto as wire;
use mux_sandbox::scarce;

use super::{convert, door::Door};
use crate::{
    lifecycle::{Service, Starter},
    state::Daemon,
};
use mux_catalog::imitations;
use mux_process::descriptors;
use mux_telemetry::{metrics, trace::Tracer};

pub(super) fn of(daemon: &Daemon, door: &Door) -> wire::Status {
    let workers = daemon.runs.pool().status();
    let counts = daemon.runs.counts();
    let mut problems = daemon.problems();
    problems.extend(door.notes());
    let cache = daemon.gateway.upstreams().catalog().cache();
    let cache = cache.and_then(|cache| cache.status().problem);
    let cache =
        cache.map(|why| format!("the cache lives in memory only, until `mux restart`: {why}"));
    problems.extend(daemon.gateway.upstreams().pins().problems());
    let mut degraded = degraded(daemon);
    let told = [
        ("workers", workers.problem),
        ("cache", cache),
        ("audit", daemon.gateway.audit().problem()),
    ];
    for (mode, problem) in told {
        let Some(message) = problem else { continue };
        match scarce::remedy_in(&message) {
            Some(fix) => degraded.push(wire::Degraded {
                mode: mode.to_owned(),
                message,
                fix: fix.to_owned(),
            }),
            None => problems.push(message),
        }
    }
    let kept = daemon.gateway.upstreams().auth().kept();
    problems.extend(kept.problem);
    wire::Status {
        build: wire::version::BUILD.into(),
        contract: wire::version::CONTRACT,
        pid: std::process::id(),
        engine: workers.engine,
        engine_version: workers.engine_version,
        uptime_ms: convert::millis(daemon.started.elapsed()),
        rss_bytes: metrics::resident_bytes(),
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
        servers: servers(daemon, door),
        config: daemon.places.config.clone(),
        socket: daemon.places.socket.clone(),
        log: daemon.places.log.clone(),
        problems,
        degraded,
        tokens: Some(wire::TokenStatus {
            keyring: kept.keyring,
            file: kept.file.to_owned(),
            note: kept.note,
        }),
        started: Some(started(&daemon.service)),
        telemetry: Some(telemetry(daemon.gateway.tracer())),
    }
}

fn telemetry(tracer: &Tracer) -> wire::TelemetryStatus {
    let report = tracer.report();
    wire::TelemetryStatus {
        built_in: report.built_in,
        endpoint: report.to,
        sent: report.counts.sent,
        lost: report.counts.lost,
        problem: report.counts.problem,
    }
}

/// What this machine does not give the daemon now.
fn degraded(daemon: &Daemon) -> Vec<wire::Degraded> {
    let environment = daemon.environment.borrow();
    let straits = daemon.straits.look(environment.as_ref());
    let all = straits.into_iter().chain(daemon.unwatched());
    let told = all.map(|strait| wire::Degraded {
        mode: strait.mode.to_owned(),
        message: strait.message,
        fix: strait.fix,
    });
    told.collect()
}

/// What a client is told who wants more than there are descriptors for.
pub(super) fn cramped() -> wire::Error {
    let allowed = descriptors::allowed().unwrap_or_default();
    let message =
        format!("muxd has all of its {allowed} file descriptors in use, and takes no more work");
    wire::Error::new(wire::Kind::Busy, message).hint(
        "try again when other clients or runs have ended; a higher limit (`ulimit -n`, LimitNOFILE= of a service) takes \
         `mux restart`",
    )
}

fn started(service: &Service) -> wire::Started {
    wire::Started {
        by: match service.starter() {
            Starter::Client => wire::StartedBy::Client,
            Starter::Hand => wire::StartedBy::Hand,
            Starter::Systemd => wire::StartedBy::Systemd,
            Starter::Launchd => wire::StartedBy::Launchd,
        },
        service: service.name().map(str::to_owned),
        socket_passed: service.passed().is_some(),
        watchdog_ms: service.watchdog().map(convert::millis),
    }
}

/// All of the user's, and those of the project in which he stands.
pub(super) fn servers(daemon: &Daemon, door: &Door) -> Vec<wire::ServerInfo> {
    let (upstreams, sight) = (daemon.gateway.upstreams(), door.sight());
    let servers = upstreams.all_seen(&sight);
    let servers = servers
        .iter()
        .map(|server| convert::server(upstreams, server));
    let mut servers: Vec<wire::ServerInfo> = servers.collect();
    for (name, told) in imitations(&upstreams.known_seen(&sight)) {
        if let Some(server) = servers.iter_mut().find(|server| server.name == name) {
            server.warnings.extend(told);
        }
    }
    servers.extend(daemon.disabled().into_iter().map(convert::disabled));
    for server in &mut servers {
        // One whose entry cannot be used is one all the same.
        if server.project.is_none() && daemon.is_source(&server.name) {
            server.source.get_or_insert_default();
        }
    }
    servers
}
