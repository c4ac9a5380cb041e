//! A daemon under use and under faults for as long as asked: 20 servers, 8 clients, one fault a second.
//!
//! Every answer is compared with what it must be. Each minute says what the daemon holds; the end says how
//! that has changed, and is a failure if an answer was wrong, a process stayed a zombie or something grew
//! over its bound (`scripts/soak`).

#[path = "soak/answers.rs"]
mod answers;
#[path = "soak/clients.rs"]
mod clients;
#[path = "soak/faults.rs"]
mod faults;
#[path = "soak/home.rs"]
mod home;
#[path = "soak/vitals.rs"]
mod vitals;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Parser;
use mux_tests::dice;
use tokio::{task::JoinSet, time::sleep};

use self::{answers::Answers, faults::Faults, home::Home, vitals::Vitals};

/// Uses a daemon and does it harm, and tells what became of it.
#[derive(Parser)]
#[command(name = "mux-soak")]
struct Args {
    /// How long; a part of one is a number too
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seconds between two lines
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// Between two faults, in milliseconds
    #[arg(long, default_value_t = 1000)]
    fault_ms: u64,
    /// Of a run that is to be repeated
    #[arg(long)]
    seed: Option<u64>,
}

const CLIENTS: usize = 8;
/// What has been started once, and learned, by then.
const WARM_UP: f64 = 0.25;
/// After the last fault, until everything that was on its way has come to its end.
const REST: Duration = Duration::from_secs(6);

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(soak(&args))
}

async fn soak(args: &Args) -> anyhow::Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(dice::seed);
    let home = Arc::new(Home::new());
    say(&format!(
        "{} servers, {CLIENTS} clients, a fault every {} ms, for {} minutes; seed {seed}",
        home::SERVERS,
        args.fault_ms,
        args.minutes
    ));
    home.warm_up().await?;
    let answers = Arc::new(Answers::default());
    let over = Arc::new(AtomicBool::new(false));
    let mut work = JoinSet::new();
    for client in 0..CLIENTS {
        let client = clients::Client::new(&home, &answers, &over, client, seed);
        work.spawn(client.work());
    }
    let mut faults = Faults::new(&home, seed);
    let began = Instant::now();
    let whole = Duration::from_secs_f64(args.minutes * 60.0);
    let mut vitals = Vitals::new(home.daemon()?, whole.mul_f64(WARM_UP));
    let (mut next_line, mut next_look) = (Duration::from_secs(args.every), Duration::ZERO);
    say(&vitals::head());
    while began.elapsed() < whole {
        sleep(Duration::from_millis(args.fault_ms)).await;
        faults.next().await;
        if began.elapsed() >= next_look {
            next_look += Duration::from_secs(1);
            vitals.look(began.elapsed());
        }
        if began.elapsed() >= next_line {
            next_line += Duration::from_secs(args.every);
            say(&vitals.line(&answers, faults.count()));
        }
    }
    over.store(true, Ordering::Relaxed);
    while let Some(ended) = work.join_next().await {
        ended?;
    }
    sleep(REST).await;
    let problems = vitals.judge(home.daemon()?, began.elapsed(), &answers);
    say(&format!("faults: {}", faults.summary()));
    say(&format!("answers: {}", answers.summary()));
    say(&vitals.summary());
    for problem in &problems {
        say(&format!("FAILED: {problem}"));
    }
    if problems.is_empty() {
        say("ok");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

#[expect(clippy::print_stdout, reason = "what it found is what it is for")]
fn say(line: &str) {
    println!("{line}");
}
