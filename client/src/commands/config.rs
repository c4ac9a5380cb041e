//! `mux config`: the effective settings with their origins, and the problems of a configuration file.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use mux_client::within_seconds;
use mux_proto::{CheckConfigRequest, Error, Kind, SettingsRequest};

use super::{CommandFailure, CommandResult, request_with_retry, resolve_dirs};
use crate::{
    args::{self, ConfigCommand},
    render,
};

/// Maximum bytes of a configuration file, far more than anyone writes by hand.
const MAX_CONFIG_FILE_BYTES: u64 = 4 << 20;
/// Generated from the types that the daemon reads.
const CONFIG_SCHEMA: &str = include_str!("../../../docs/reference/config.schema.json");

pub(super) async fn config(args: args::ConfigArgs, json: bool) -> CommandResult {
    match args.command {
        ConfigCommand::Show { agent } => show_settings(agent, json).await,
        ConfigCommand::Path => Ok(render::config_path(&resolve_dirs()?.config_file(), json)),
        ConfigCommand::Schema => {
            // A closed pipe is not an error.
            drop(render::print_data(CONFIG_SCHEMA));
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Check { file } => run_config_check(file, json).await,
    }
}

async fn show_settings(agent: Option<String>, json: bool) -> CommandResult {
    let request = SettingsRequest { agent };
    let report = request_with_retry(async |session| {
        session.require_feature("settings")?;
        let answer = session.client.settings(within_seconds(10), request.clone());
        answer.await.map_err(mux_client::rpc_error)?
    });
    let report = report.await?.map_err(CommandFailure::from)?;
    Ok(render::settings(&report, json))
}

async fn run_config_check(file: Option<PathBuf>, json: bool) -> CommandResult {
    let file = match file {
        Some(file) => file,
        None => resolve_dirs()?.config_file(),
    };
    let text = read_config_text(&file).map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Error::new(Kind::NotFound, message).hint("`mux config path` says where config.toml is")
    })?;
    let request = CheckConfigRequest { text, file };
    let report = request_with_retry(async |session| {
        session.require_feature("check_config")?;
        // The daemon may have to read the login shell's variables first.
        let answer = session
            .client
            .check_config(within_seconds(60), request.clone());
        answer.await.map_err(mux_client::rpc_error)?
    });
    let report = report.await?.map_err(CommandFailure::from)?;
    Ok(render::config_report(&report, &request.file, json))
}

fn read_config_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    match file.as_os_str() == "-" {
        true => std::io::stdin()
            .take(MAX_CONFIG_FILE_BYTES + 1)
            .read_to_string(&mut text)?,
        false => fs::File::open(file)?
            .take(MAX_CONFIG_FILE_BYTES + 1)
            .read_to_string(&mut text)?,
    };
    match text.len() as u64 > MAX_CONFIG_FILE_BYTES {
        true => Err(std::io::Error::other("it is longer than 4 MiB")),
        false => Ok(text),
    }
}
