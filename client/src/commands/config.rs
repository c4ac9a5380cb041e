//! `mux config`: the effective settings with their origins, the problems of a configuration file, and its edits.

pub(super) mod change;
pub(super) mod config_key;
mod editor;
mod values;

use std::{
    fs,
    path::{Path, PathBuf},
};

use mux_client::within_seconds;
use mux_proto::{CheckConfigRequest, ConfigReport, Error, Kind, SettingsReport, SettingsRequest};

use self::config_key::CONFIG_SCHEMA;
use super::{CommandFailure, CommandResult, ask, input::read_limited_text, resolve_dirs};
use crate::{
    args::{self, ConfigCommand},
    render,
};

/// Maximum bytes of a configuration file, far more than anyone writes by hand.
const MAX_CONFIG_FILE_BYTES: u64 = 4 << 20;

pub(super) async fn config(args: args::ConfigArgs, json: bool) -> CommandResult {
    match args.command {
        ConfigCommand::Show { agent } => {
            let report = settings_report(agent).await?;
            Ok(render::settings(&report, json))
        }
        ConfigCommand::Get { key } => values::get(&key, json).await,
        ConfigCommand::Set(args) => values::set(&args, json).await,
        ConfigCommand::Unset(args) => values::unset(&args, json).await,
        ConfigCommand::Edit => editor::edit_config(json).await,
        ConfigCommand::Path => Ok(render::config_path(&resolve_dirs()?.config_file(), json)),
        ConfigCommand::Schema => Ok(render::output_exit_code(render::print_data(CONFIG_SCHEMA))),
        ConfigCommand::Check { file } => run_config_check(file, json).await,
    }
}

/// The current settings.
async fn settings_report(agent: Option<String>) -> Result<SettingsReport, CommandFailure> {
    let request = SettingsRequest { agent };
    ask(async |client| client.settings(within_seconds(10), request.clone()).await).await
}

async fn run_config_check(file: Option<PathBuf>, json: bool) -> CommandResult {
    let file = match file {
        Some(file) => file,
        None => resolve_dirs()?.config_file(),
    };
    let text = read_config_text(&file)?;
    let report = check_text(text, &file).await?;
    Ok(render::config_report(&report, &file, json))
}

/// The daemon's check of a configuration. `file` names it in messages.
pub(super) async fn check_text(text: String, file: &Path) -> Result<ConfigReport, CommandFailure> {
    let file = file.to_owned();
    let request = CheckConfigRequest { text, file };
    // The daemon may need to read the login shell variables first.
    let within = || within_seconds(60);
    ask(async |client| client.check_config(within(), request.clone()).await).await
}

/// The content of a configuration file. `-` is standard input.
pub(super) fn read_config_text(file: &Path) -> Result<String, CommandFailure> {
    let read = if file.as_os_str() == "-" {
        read_limited_text(std::io::stdin(), MAX_CONFIG_FILE_BYTES)
    } else {
        fs::File::open(file).and_then(|file| read_limited_text(file, MAX_CONFIG_FILE_BYTES))
    };
    read.map_err(|error| {
        let message = format!("cannot read {}: {error}", file.display());
        Error::new(Kind::NotFound, message)
            .hint("`mux config path` prints the path of config.toml")
            .into()
    })
}
