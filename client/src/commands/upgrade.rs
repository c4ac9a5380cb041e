//! `mux restart --upgrade`.

use std::{
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

use mux_client::within_seconds;
use mux_proto::{Error, Kind, UpgradeRequest, variables, version::CONTRACT};

use super::{
    CommandFailure, CommandResult, client_identity, connect_if_running, env_path, resolve_dirs,
};
use crate::render;

/// Seconds, more than all limits of the two daemons together.
const UPGRADE_TIMEOUT_SECS: u64 = 120;

/// The running daemon may have another contract. The request is sent if the daemon lists the method, whose
/// messages only grow.
pub(super) async fn upgrade(binary: Option<&Path>, json: bool) -> CommandResult {
    let binary = muxd_to_start(binary)?;
    let Some(session) = connect_if_running().await? else {
        let session =
            mux_client::connect_or_spawn(&resolve_dirs()?, Some(binary), &client_identity())
                .await?;
        return Ok(render::started(session.welcome.pid, json));
    };
    if !cfg!(target_os = "linux") {
        let message = format!(
            "`--upgrade` works on Linux, not on {}",
            std::env::consts::OS
        );
        let fix = "run `mux restart`, which waits until the daemon's runs are done";
        return Err(Error::new(Kind::Validation, message).hint(fix).into());
    }
    let request = UpgradeRequest {
        binary,
        contract: CONTRACT,
    };
    let within = within_seconds(UPGRADE_TIMEOUT_SECS);
    let answer = session.client.upgrade(within, request);
    let upgraded = render::with_spinner("starting the new muxd", json, answer).await??;
    render::upgraded(session.welcome.pid, &upgraded, json);
    Ok(ExitCode::SUCCESS)
}

/// An absolute path: the daemon has another working directory.
fn muxd_to_start(binary: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let given = binary.map(Path::to_owned);
    let given = given.or_else(|| env_path(variables::DAEMON));
    let program = given.unwrap_or_else(mux_client::daemon_program);
    let failed = |why: String| {
        CommandFailure::from(
            Error::new(Kind::Validation, why).hint("name the muxd to start with --binary PATH"),
        )
    };
    let program = absolute(&program).map_err(|error| failed(error.to_string()))?;
    if program.is_file() {
        Ok(program)
    } else {
        Err(failed(format!("there is no muxd at {}", program.display())))
    }
}
