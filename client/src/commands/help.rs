//! `mux help`, and `mux` alone.

use std::process::ExitCode;

use clap::CommandFactory as _;

use super::config_edit;
use crate::{
    args::{HelpArgs, MuxCli, grouped_help},
    render, usage,
};

/// The first line to try while nothing is configured.
const FIRST_STEP: &str =
    "Nothing is configured yet. Start with `mux init`, or add a server with `mux servers add`.";

pub(super) fn help(args: &HelpArgs) -> ExitCode {
    if args.all {
        render::help(&MuxCli::command().render_help(), None);
        return ExitCode::SUCCESS;
    }
    usage::print_help_of(&args.commands)
}

/// The help, with the first step if nothing is configured.
pub(super) fn overview() -> ExitCode {
    let first_step = (!config_edit::has_entries()).then_some(FIRST_STEP);
    render::help(&grouped_help(), first_step);
    ExitCode::SUCCESS
}
