//! Arguments of `mux run`, `mux replay` and `mux runs`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args as ClapArgs, Subcommand};

use super::{TraceArgs, timeout::parse_run_timeout};

#[derive(Debug, ClapArgs)]
pub(crate) struct SourceArgs {
    /// A file, or - for standard input
    pub(crate) file: Option<PathBuf>,
    /// The program's code
    #[arg(short = 'e', long, value_name = "CODE", conflicts_with = "file")]
    pub(crate) eval: Option<String>,
}

impl SourceArgs {
    /// Whether the program is read from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.file.as_deref() == Some(Path::new("-"))
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// `mux.input`: JSON, @FILE, - for standard input, or KEY=VALUE, which can be repeated
    #[arg(long, value_name = "INPUT", allow_negative_numbers = true)]
    pub(crate) input: Vec<String>,
    /// The maximum wall time, 1s to 300s; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", value_parser = parse_run_timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Run the program without type checking
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print the run's id without waiting for the result
    #[arg(long, conflicts_with = "save_parts")]
    pub(crate) detach: bool,
    /// Record the run to a file: code, input, every call with its result, times
    #[arg(long, value_name = "FILE", conflicts_with = "detach")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) parts: SavePartsArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReplayArgs {
    /// A recording written by `mux run --record`
    pub(crate) file: PathBuf,
    /// Compare the outcome with the recording: exit with 0 if they match, even if both are failures, otherwise with 1
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) parts: SavePartsArgs,
}

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct SavePartsArgs {
    /// Write the parts that the program emits (images, audio, text, resources) to new files in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) save_parts: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) list: RunsListArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List active runs and recent runs (the default)
    #[command(after_help = "Example: mux runs list --limit 100 --json")]
    List(RunsListArgs),
    /// Show a run: its state, calls, console and result
    #[command(after_help = "`mux runs 12` also shows a run.\nExample: mux runs show 12")]
    Show {
        /// The run's number or id
        run: String,
    },
    /// Follow a run until it ends, with the output and exit code of `mux run`
    #[command(after_help = "Ctrl-C stops watching; the run continues.\nExample: mux runs watch 12")]
    Watch(WatchArgs),
    /// Cancel runs and their in-flight calls
    #[command(after_help = "Example: mux runs cancel 12 13")]
    Cancel {
        /// The runs' numbers or ids
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Print all or part of a stored value (a value too long for a message)
    #[command(
        after_help = "The value is JSON, and offsets count its bytes. With --json, one page is printed;\nits `next` is the offset of the next page.\n\
        Example: mux runs read h_5f0c --offset 262144 --length 1024"
    )]
    Read(ReadArgs),
}

// Without its own group, because the group's name would collide with the subcommand that flattens it.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct RunsListArgs {
    /// List only runs that have not ended
    #[arg(long)]
    pub(crate) running: bool,
    /// The maximum number of runs to list, latest first
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WatchArgs {
    /// The run's number or id
    pub(crate) run: String,
    /// Skip the events up to this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: u64,
    #[command(flatten)]
    pub(crate) parts: SavePartsArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReadArgs {
    /// The handle of the value: h_…
    pub(crate) handle: String,
    /// The byte offset to start at
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// The number of bytes to read
    #[arg(long, value_name = "N")]
    pub(crate) length: Option<u64>,
}
