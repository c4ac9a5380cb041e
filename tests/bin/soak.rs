//! A daemon under use and under faults for as long as asked: 20 servers, 50 agents over `mux mcp`, one fault a second.
//!
//! Every answer is compared with the expected one, and no call may have its effect twice. Each minute prints the
//! daemon's resources. The end prints how they have changed, and is a failure if an answer was wrong, an effect was
//! doubled or lost, a process stayed a zombie or something grew over its bound (`scripts/soak`).

#![expect(
    clippy::cast_possible_truncation,
    reason = "frames are short, or random bits cut on purpose"
)]

#[path = "soak/agent.rs"]
mod agent;
#[path = "soak/answers.rs"]
mod answers;
#[path = "soak/clients.rs"]
mod clients;
#[path = "soak/curve.rs"]
mod curve;
#[path = "soak/effects.rs"]
mod effects;
#[path = "soak/faults.rs"]
mod faults;
#[path = "soak/home.rs"]
mod home;
#[path = "soak/vitals.rs"]
mod vitals;

use std::{
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Parser;
use mux_tests::dice;
use tokio::{task::JoinSet, time::sleep};

use self::{
    answers::Answers, clients::SoakWorkload, effects::EffectLedger, faults::Faults, home::Home,
    vitals::Vitals,
};

/// Uses a daemon and does it harm, and reports what became of it.
#[derive(Parser)]
#[command(name = "mux-soak")]
struct Args {
    /// How long; fractions are allowed
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seconds between two lines
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// Milliseconds between two faults
    #[arg(long, default_value_t = 1000)]
    fault_ms: u64,
    /// The number of agents
    #[arg(long, default_value_t = 50)]
    agents: usize,
    /// The longest pause of an agent between two requests, in milliseconds
    #[arg(long, default_value_t = 400)]
    pause_ms: usize,
    /// Repeat the faults of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Write the curve of memory, descriptors and threads to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// True if this process is in a separate mount namespace, for the full disk
    #[arg(long, hide = true)]
    own_disks: bool,
}

/// The share of the time after which everything was started and learned once.
const WARM_UP: f64 = 0.25;
/// After the last fault, until everything that was on its way has ended.
const REST: Duration = Duration::from_secs(6);

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    if !args.own_disks && may_unshare() {
        return Err(unshared()?.exec().into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(soak(&args))
}

async fn soak(args: &Args) -> anyhow::Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(dice::seed);
    let home = Arc::new(Home::new(args.own_disks));
    let title = format!(
        "{} servers, {} agents, a fault every {} ms, for {} minutes",
        home::SERVERS,
        args.agents,
        args.fault_ms,
        args.minutes
    );
    say(&format!("{title}; seed {seed}"));
    if let Some(why) = &home.disk_problem {
        say(&format!("the full disk is left out: {why}"));
    }
    home.warm_up().await?;
    let all = Arc::new(SoakWorkload {
        home: Arc::clone(&home),
        answers: Answers::default(),
        effects: EffectLedger::new()?,
        over: AtomicBool::new(false),
        max_pause_ms: args.pause_ms.max(1),
    });
    let mut work = JoinSet::new();
    for number in 0..args.agents {
        work.spawn(clients::Client::new(&all, number, seed).work());
    }
    let mut faults = Faults::new(&home, seed)?;
    let began = Instant::now();
    let whole = Duration::from_secs_f64(args.minutes * 60.0);
    let mut vitals = Vitals::new(faults.daemon, whole.mul_f64(WARM_UP));
    let mut next_line = Duration::from_secs(args.every);
    let mut next_look = Duration::ZERO;
    say(&vitals::head());
    while began.elapsed() < whole {
        sleep(Duration::from_millis(args.fault_ms)).await;
        if faults.next().await {
            vitals.follow(faults.daemon, began.elapsed());
        }
        if began.elapsed() >= next_look {
            next_look += Duration::from_secs(1);
            vitals.look(began.elapsed());
        }
        if began.elapsed() >= next_line {
            next_line += Duration::from_secs(args.every);
            say(&vitals.line(&all.answers, faults.count()));
        }
    }
    all.over.store(true, Ordering::Relaxed);
    while let Some(ended) = work.join_next().await {
        ended?;
    }
    sleep(REST).await;
    let mut problems = vitals.judge(home.daemon()?, began.elapsed(), &all.answers);
    problems.append(&mut faults.problems);
    let (mut wrong_effects, effects) = all.effects.judge();
    problems.append(&mut wrong_effects);
    say(&format!("faults: {}", faults.summary()));
    say(&format!("answers: {}", all.answers.summary()));
    say(&format!("effects: {effects}"));
    say(&vitals.summary());
    if let Some(file) = &args.svg {
        std::fs::write(file, vitals.svg(&title))?;
    }
    for problem in &problems {
        say(&format!("FAILED: {problem}"));
    }
    if problems.is_empty() {
        say("ok");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

/// `unshare` with the arguments for a mount namespace, which other users than root only get with a user namespace.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.arg(if nix::unistd::geteuid().is_root() {
        "-m"
    } else {
        "-rm"
    });
    command
}

fn may_unshare() -> bool {
    let tried = unshare().arg("true").output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// This program once more, in a separate mount namespace.
fn unshared() -> std::io::Result<Command> {
    let mut command = unshare();
    command
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .arg("--own-disks");
    Ok(command)
}

#[expect(clippy::print_stdout, reason = "its findings are its output")]
fn say(line: &str) {
    println!("{line}");
}
