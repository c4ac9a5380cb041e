//! Help, and errors of the command line.

use std::{io::Write as _, process::ExitCode};

use clap::builder::StyledStr;

use super::terminal::expect_written;

/// Prints a usage error, or the help or version that was asked for.
pub(crate) fn clap_error(error: &clap::Error) -> ExitCode {
    // A closed pipe is not an error.
    drop(error.print());
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Prints help. `last`: a line below it.
pub(crate) fn help(text: &StyledStr, last: Option<&str>) {
    let text = text.ansi().to_string();
    let lines = [Some(text.trim_end()), last];
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    expect_written(writeln!(anstream::stdout(), "{}", lines.join("\n")));
}
