//! The savings of programs: the tokens that plain tool calling would cost for the same work.
//!
//! Tokens are counted with OpenAI's `o200k_base`. Other models differ by a little.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are small and positive"
)]

#[path = "bill/digest.rs"]
mod digest;
#[path = "bill/discover.rs"]
mod discover;
#[path = "bill/distribution.rs"]
mod distribution;
#[path = "bill/plain.rs"]
mod plain;
#[path = "bill/play.rs"]
mod play;
#[path = "bill/pool.rs"]
mod pool;
#[path = "bill/profiles.rs"]
mod profiles;
#[path = "bill/suites.rs"]
mod suites;
#[path = "bill/table.rs"]
mod table;
#[path = "bill/tasks.rs"]
mod tasks;
#[path = "bill/tokens.rs"]
mod tokens;
#[path = "bill/transcript.rs"]
mod transcript;

use clap::Parser;

/// Counts what work costs, as a program and as plain tool calls.
#[derive(Parser)]
enum Args {
    /// The demo's program, on the daemon of `MUX_HOME`
    Digest(digest::Digest),
    /// Five tasks on the real servers that `scripts/setup --servers` installed, as tables in Markdown
    Tasks,
    /// The tasks of published suites that `scripts/setup --suites` installed, as distributions in Markdown
    Suites(distribution::SuitesArgs),
}

fn main() -> anyhow::Result<()> {
    match Args::parse() {
        Args::Digest(args) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(digest::print(&args))
        }
        Args::Tasks => table::print(),
        Args::Suites(args) => distribution::print(&args),
    }
}
