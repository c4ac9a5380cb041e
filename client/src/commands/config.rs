//! `mux config`: the effective settings with their origins, and the problems of a configuration file.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use mux_client::within_seconds;
use mux_proto::{CheckConfigRequest, Error, Kind, SettingsRequest};

use super::{Failure, Outcome, ask, dirs};
use crate::{
    args::{self, ConfigCommand},
    render,
};

/// Maximum bytes of a configuration file, far more than anyone writes by hand.
const MOST: u64 = 4 << 20;
/// Generated from the types that the daemon reads.
const CONFIG_SCHEMA: &str = include_str!("../../../docs/reference/config.schema.json");

pub(super) async fn config(args: args::Config, json: bool) -> Outcome {
    match args.command {
        ConfigCommand::Show { agent } => show(agent, json).await,
        ConfigCommand::Path => Ok(render::config_path(&dirs()?.config_file(), json)),
        ConfigCommand::Schema => {
            // Somebody who closes the pipe has read enough.
            drop(render::data(CONFIG_SCHEMA));
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Check { file } => check(file, json).await,
    }
}

async fn show(agent: Option<String>, json: bool) -> Outcome {
    let request = SettingsRequest { agent };
    let report = ask(async |session| {
        session.require("settings")?;
        let answer = session.client.settings(within_seconds(10), request.clone());
        answer.await.map_err(mux_client::lost)?
    });
    let report = report.await?.map_err(Failure::from)?;
    Ok(render::settings(&report, json))
}

async fn check(file: Option<PathBuf>, json: bool) -> Outcome {
    let file = match file {
        Some(file) => file,
        None => dirs()?.config_file(),
    };
    let text = text(&file).map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Error::new(Kind::NotFound, message).hint("`mux config path` says where config.toml is")
    })?;
    let request = CheckConfigRequest { text, file };
    let report = ask(async |session| {
        session.require("check_config")?;
        // The daemon may have to read the login shell's variables first.
        let answer = session
            .client
            .check_config(within_seconds(60), request.clone());
        answer.await.map_err(mux_client::lost)?
    });
    let report = report.await?.map_err(Failure::from)?;
    Ok(render::config_report(&report, &request.file, json))
}

fn text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    match file.as_os_str() == "-" {
        true => std::io::stdin().take(MOST + 1).read_to_string(&mut text)?,
        false => fs::File::open(file)?
            .take(MOST + 1)
            .read_to_string(&mut text)?,
    };
    match text.len() as u64 > MOST {
        true => Err(std::io::Error::other("it is longer than 4 MiB")),
        false => Ok(text),
    }
}
