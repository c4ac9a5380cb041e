//! How much is printed, and whether in color: set once, from the global options.

use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};

/// The amount of output beside results and errors, from the least to the most.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Verbosity {
    /// No such output.
    Quiet,
    /// Progress, notes and warnings.
    Normal,
    /// Every call, details of errors, and the connection.
    Verbose,
    /// Every event of a run.
    Events,
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

impl Verbosity {
    pub(crate) fn of_options(quiet: bool, verbose: u8) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, 0) => Self::Normal,
            (false, 1) => Self::Verbose,
            (false, _) => Self::Events,
        }
    }
}

/// Must be called before anything is printed. The first call counts.
pub(crate) fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.get_or_init(|| verbosity);
}

pub(super) fn verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or(Verbosity::Normal)
}

/// With `Auto`, the terminal and the variables `NO_COLOR` and `CLICOLOR_FORCE` decide.
pub(crate) fn set_color(color: clap::ColorChoice) {
    let choice = match color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Returns true if a stream shows colors.
pub(super) fn has_color(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}
