//! `mux metrics`: prints the metrics of the daemon.
//!
//! Invariant: it starts no daemon, because a new one has no metrics.

use std::{io, process::ExitCode};

use mux_client::within_seconds;
use mux_proto::{Error, Kind};

use super::{CommandResult, connect_if_running, resolve_dirs};
use crate::{args, exit::unavailable_error, render};

pub(super) async fn metrics(args: &args::MetricsArgs, json: bool) -> CommandResult {
    if args.token {
        return print_metrics_token(json);
    }
    let Some(session) = connect_if_running().await? else {
        render::not_running(&resolve_dirs()?.socket(), json);
        return Ok(ExitCode::from(3));
    };
    let metrics = session.client.metrics(within_seconds(10)).await??;
    Ok(render::metrics(&metrics, json))
}

/// Reads the daemon's token file, which works without a daemon.
fn print_metrics_token(json: bool) -> CommandResult {
    let file = resolve_dirs()?.metrics_token();
    let shown = file.display();
    match std::fs::read_to_string(&file) {
        Ok(token) => Ok(render::metrics_token(token.trim(), json)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = "there is no token yet: muxd creates one when it first opens the port";
            let hint = "set [metrics] listen = \"127.0.0.1:9464\" in config.toml";
            Err(Error::new(Kind::NotFound, message).hint(hint).into())
        }
        Err(error) => Err(unavailable_error(format!("cannot read {shown}: {error}")).into()),
    }
}
