//! The figures of muxd, each beside a baseline that is measured in the same run.
//!
//! No test asserts a time. Whoever wants to know runs this, on a machine at rest, with release binaries
//! (`scripts/bench`). Figures are printed as medians and 99th percentiles, with ratios.

#![expect(
    clippy::unnecessary_debug_formatting,
    reason = "paths in TOML are quoted strings"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are small and positive"
)]

#[path = "bench/agents.rs"]
mod agents;
#[path = "bench/apis.rs"]
mod apis;
#[path = "bench/bare.rs"]
mod bare;
#[path = "bench/cold.rs"]
mod cold;
#[path = "bench/commands.rs"]
mod commands;
#[path = "bench/confined.rs"]
mod confined;
#[path = "bench/crowd.rs"]
mod crowd;
#[path = "bench/discovery.rs"]
mod discovery;
#[path = "bench/echo.rs"]
mod echo;
#[path = "bench/figures.rs"]
mod figures;
#[path = "bench/history.rs"]
mod history;
#[path = "bench/idle.rs"]
mod idle;
#[path = "bench/library_relay.rs"]
mod library_relay;
#[path = "bench/policy.rs"]
mod policy;
#[path = "bench/pool.rs"]
mod pool;
#[path = "bench/processes.rs"]
mod processes;
#[path = "bench/real.rs"]
mod real;
#[path = "bench/relay.rs"]
mod relay;
#[path = "bench/rest.rs"]
mod rest;
#[path = "bench/search.rs"]
mod search;
#[path = "bench/sessions.rs"]
mod sessions;
#[path = "bench/sharing.rs"]
mod sharing;
#[path = "bench/stages.rs"]
mod stages;
#[path = "bench/throughput.rs"]
mod throughput;
#[path = "bench/types.rs"]
mod types;
#[path = "bench/unseen.rs"]
mod unseen;
#[path = "bench/upgrades.rs"]
mod upgrades;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures a release build of muxd.
#[derive(Parser)]
struct Args {
    /// The directory with mux, muxd, mux-worker and mux-fixture-server
    #[arg(long)]
    binaries: PathBuf,
    /// A real MCP server to connect to again and again, and its arguments
    #[arg(long, num_args = 1.., value_delimiter = ' ')]
    server: Vec<String>,
    /// TypeScript's native compiler
    #[arg(long)]
    tsc: PathBuf,
    /// How often each figure is taken
    #[arg(long, default_value_t = 200, overrides_with = "rounds")]
    rounds: usize,
    /// Node, for the part `cold`
    #[arg(long)]
    node: Option<PathBuf>,
    /// Where `scripts/setup --apis` put descriptions, for the part `apis`
    #[arg(long)]
    apis: Option<PathBuf>,
    /// A folder with more sets of tools and graded queries, for the part `discovery`
    #[arg(long)]
    sets: Option<PathBuf>,
    /// How many clients share their servers, for the part `sharing`
    #[arg(long, default_value_t = 5)]
    clients: usize,
    /// How long an idle daemon is watched, for the part `idle`
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// Only these parts; without, all but `discovery`, `sharing`, `apis`, `upgrades`, `idle`, `crowd`, `cold`, `confined` and `history`
    #[arg(long, value_enum)]
    only: Vec<Part>,
}

/// The parts that can be measured alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Part {
    Process,
    Calls,
    Rest,
    Agents,
    Stages,
    Unseen,
    Types,
    Search,
    Policy,
    Pool,
    Throughput,
    Neighbours,
    Growth,
    Daemon,
    Discovery,
    Sharing,
    Apis,
    Upgrades,
    Idle,
    Crowd,
    Cold,
    Confined,
    History,
}

impl Part {
    /// Takes minutes, or needs what not everybody has.
    fn is_by_name_alone(self) -> bool {
        matches!(
            self,
            Self::Discovery
                | Self::Sharing
                | Self::Apis
                | Self::Upgrades
                | Self::Idle
                | Self::Crowd
                | Self::Cold
                | Self::Confined
                | Self::History
        )
    }
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args_os().skip(1);
    if let (Some(first), Some(socket)) = (words.next(), words.next()) {
        if first == echo::ARGUMENT {
            return echo::serve(socket.as_ref());
        }
        if first == relay::ARGUMENT {
            return relay::serve(socket.as_ref(), words.next());
        }
        if first == library_relay::ARGUMENT {
            return library_relay::serve(socket.as_ref(), words.next());
        }
    }
    let args = Args::parse();
    let worker = args.binaries.join("mux-worker");
    let place = commands::Place::new(&args.binaries, &args.server)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    for part in Part::value_variants() {
        if !args.only.contains(part) && (part.is_by_name_alone() || !args.only.is_empty()) {
            continue;
        }
        match part {
            Part::Process => {
                figures::title("whole process");
                commands::measure(&place, args.rounds)?;
            }
            Part::Calls => {
                figures::title("one warm tool call (fixture server: echo)");
                runtime.block_on(sessions::measure(&place, args.rounds))?;
            }
            Part::Rest => {
                figures::title("one warm REST call (a server on this machine)");
                runtime.block_on(rest::measure(&place, args.rounds))?;
            }
            Part::Agents => {
                figures::title("an agent at `mux mcp`");
                agents::measure(args.rounds)?;
            }
            Part::Stages => {
                figures::title("processor time and sleeping threads, by process");
                stages::measure(args.rounds)?;
            }
            Part::Unseen => {
                figures::title("programs that no agent has sent before");
                unseen::measure()?;
            }
            Part::Types => {
                figures::title("types and checks");
                runtime.block_on(types::measure(&place, &args.tsc, args.rounds))?;
            }
            Part::Search => {
                figures::title("search");
                runtime.block_on(search::measure(args.rounds))?;
            }
            Part::Policy => {
                figures::title("policy: one decision");
                policy::measure(args.rounds)?;
            }
            Part::Pool => {
                figures::title("the pool alone");
                runtime.block_on(pool::measure(&worker, args.rounds))?;
            }
            Part::Throughput => {
                figures::title("programs per second");
                runtime.block_on(throughput::measure(&place))?;
            }
            Part::Neighbours => {
                figures::title("an innocent program beside hostile ones");
                runtime.block_on(throughput::measure_neighbours(&place))?;
            }
            Part::Growth => {
                figures::title("memory after many runs");
                runtime.block_on(throughput::measure_growth(&place))?;
            }
            Part::Daemon => {
                figures::title("daemon and workers");
                commands::measure_daemon(&place)?;
            }
            Part::Discovery => {
                figures::title("ranking of tools: graded queries");
                runtime.block_on(discovery::measure(args.sets.as_deref()))?;
            }
            Part::Apis => {
                figures::title("large APIs as sources");
                let folder = args.apis.as_deref();
                runtime.block_on(apis::measure(&place, &args.tsc, folder, args.rounds))?;
            }
            Part::Upgrades => {
                figures::title("upgrades under load");
                runtime.block_on(upgrades::measure(args.rounds))?;
            }
            Part::Idle => {
                figures::title("a daemon that nobody needs");
                idle::measure(&place, &args.tsc, args.minutes)?;
            }
            Part::Crowd => {
                figures::title("a thousand clients that say nothing");
                runtime.block_on(crowd::measure(&place, args.rounds))?;
            }
            Part::Cold => {
                figures::title("from no daemon to the result of a call");
                cold::measure(&place, args.node.as_deref())?;
            }
            Part::Confined => {
                figures::title("servers in a sandbox");
                confined::measure(args.rounds)?;
            }
            Part::History => {
                figures::title("a history with 100,000 runs");
                runtime.block_on(history::measure(args.rounds))?;
            }
            Part::Sharing => {
                figures::title("memory of clients with ten servers each");
                runtime.block_on(sharing::measure(args.clients))?;
            }
        }
    }
    Ok(())
}
