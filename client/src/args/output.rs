//! Global options: what every command prints, and how.

use clap::{ArgAction, Args as ClapArgs, ColorChoice};

#[derive(Debug, ClapArgs)]
#[group(skip)]
#[command(next_help_heading = "Global options")]
pub(crate) struct OutputArgs {
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only results and errors: no progress, notes or warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more: connection, calls, error details; -vv also prints a run's events
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Use colors: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t = ColorChoice::Auto,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) color: ColorChoice,
}
