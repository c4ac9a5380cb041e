//! Programs and runs.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args as ClapArgs, Subcommand};

use super::Trace;

#[derive(Debug, ClapArgs)]
pub(crate) struct Source {
    /// A file, or - for standard input
    #[arg(required_unless_present = "eval")]
    pub(crate) file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', long, value_name = "CODE", conflicts_with = "file")]
    pub(crate) eval: Option<String>,
}

impl Source {
    /// The program itself comes from there.
    pub(crate) fn is_stdin(&self) -> bool {
        self.eval.is_none()
            && self
                .file
                .as_deref()
                .is_none_or(|file| file == Path::new("-"))
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// JSON for `mux.input`
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Wall time, 1s to 300s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Run it whatever its types are
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print the run's id and do not wait for its end
    #[arg(long, conflicts_with = "save_parts")]
    pub(crate) detach: bool,
    /// Keep all of it in a file: code, input, every call with its result, times
    #[arg(long, value_name = "FILE", conflicts_with = "detach")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) parts: Parts,
    #[command(flatten)]
    pub(crate) trace: Trace,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Replay {
    /// What `mux run --record` wrote
    pub(crate) file: PathBuf,
    /// Exit with 1 if it does not end as it was recorded
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) parts: Parts,
}

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Parts {
    /// Write what the program emits (images, audio, texts, resources) to new files there, at its end
    #[arg(long, value_name = "DIR")]
    pub(crate) save_parts: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    #[command(flatten)]
    pub(crate) list: ListRuns,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List those that run and those that are kept (the default)
    #[command(after_help = "Example: mux runs list --limit 100 --json")]
    List(ListRuns),
    /// Show one: what it is, its calls, its console, its result
    #[command(after_help = "Example: mux runs show 12")]
    Show {
        /// Its id, or the number behind the dash
        run: String,
    },
    /// Show one as `mux run` would, until its end, and exit as it does
    #[command(after_help = "Ctrl-C stops watching; the run goes on.\nExample: mux runs watch 12")]
    Watch(Watch),
    /// Stop them, with the calls that are on their way
    #[command(after_help = "Example: mux runs cancel 12 13")]
    Cancel {
        /// Their ids, or the numbers behind the dashes
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Print a value that was too long for a message, or a part of it
    #[command(
        after_help = "The value is JSON text, and offsets count its bytes. With --json one page is \
        printed;\nits `next` is the offset of the next one.\n\
        Example: mux runs read h_5f0c --offset 262144 --length 1024"
    )]
    Read(Read),
}

// Without its own group, whose name would be that of the subcommand it is flattened into.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct ListRuns {
    /// Only those that have not ended
    #[arg(long)]
    pub(crate) running: bool,
    /// At most so many, the latest first
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Watch {
    /// Its id, or the number behind the dash
    pub(crate) run: String,
    /// Leave out the events up to this number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) after: u64,
    #[command(flatten)]
    pub(crate) parts: Parts,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Read {
    /// What stands in place of the value: h_…
    pub(crate) handle: String,
    /// Begin at this byte
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Read so many bytes
    #[arg(long, value_name = "N")]
    pub(crate) length: Option<u64>,
}
