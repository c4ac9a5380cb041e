//! `mux metrics`: prints the metrics of the daemon.
//!
//! Invariant: it starts no daemon, because a new one has no metrics.

use std::{io, process::ExitCode};

use mux_client::within_seconds;
use mux_proto::{Error, Kind};

use super::{Failure, Outcome, dirs, running};
use crate::{args, exit::machinery, exposition, render};

pub(super) async fn metrics(args: &args::Metrics, json: bool) -> Outcome {
    if args.token {
        return token(json);
    }
    let Some(session) = running().await? else {
        render::not_running(&dirs()?.socket(), json);
        return Ok(ExitCode::from(3));
    };
    session.require("metrics")?;
    let answer = session.client.metrics(within_seconds(10)).await?;
    let text = answer.map_err(Failure::from)?.text;
    if !json {
        return Ok(render::metrics(&text));
    }
    let families = exposition::parse(&text).map_err(|error| machinery(error.to_string()))?;
    Ok(render::metrics_document(&families))
}

/// Reads the daemon's token file, which works without a daemon.
fn token(json: bool) -> Outcome {
    let file = dirs()?.metrics_token();
    let shown = file.display();
    match std::fs::read_to_string(&file) {
        Ok(token) => Ok(render::metrics_token(token.trim(), json)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = "there is no token yet: muxd makes one when it first opens the port";
            let hint = "write [metrics] listen = \"127.0.0.1:9464\" into config.toml";
            Err(Error::new(Kind::NotFound, message).hint(hint).into())
        }
        Err(error) => Err(machinery(format!("cannot read {shown}: {error}")).into()),
    }
}
