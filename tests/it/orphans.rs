//! No process outlives its daemon: 200 rounds of every shape of process tree with every ending.
//!
//! Invariant: 2 s after the end of the daemon, or of the keeper if only that ended, none of their processes is left. If
//! the daemon, the keeper and its guard are killed at the same instant, the next daemon ends the leftovers before it
//! starts a server.
//!
//! The shape `BARE` is a process that left its parent, its group and its environment, so only its ancestry identifies
//! it. The process ends with the daemon and with the keeper. It stays if only its server ends, or if the keeper and its
//! guard are killed at the same instant.

mod endings;
mod shapes;
mod wrappers;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use mux_tests::{
    TestEnv,
    dice::{self, Dice},
    process::{self, Tree},
};

use self::{
    endings::{ENDINGS, Ending},
    shapes::{BARE, SHAPES},
};

/// The guaranteed time after which no process is left.
const GONE: Duration = Duration::from_secs(2);
/// The timeout for what has no guaranteed time and only must not hang.
const PATIENCE: Duration = Duration::from_secs(20);

const ROUNDS: usize = 200;
/// Concurrent homes: most of a round is waiting for servers that are slow to end.
const HOMES: usize = 8;

#[test]
fn no_process_is_left_after_any_ending() {
    let seed = dice::seed();
    thread::scope(|scope| {
        let homes: Vec<_> = (0..HOMES)
            .map(|home| {
                scope.spawn(move || {
                    let env = TestEnv::new();
                    let mut dice = Dice::new(seed, home as u64);
                    for round in (home..ROUNDS).step_by(HOMES) {
                        // Each ending is combined with each shape, and with a second shape at random.
                        let ending = ENDINGS[round % ENDINGS.len()];
                        let first = (round / ENDINGS.len() + round) % SHAPES.len();
                        let second = dice.below(SHAPES.len());
                        let shapes = [first, second].map(|shape| {
                            if !ending.knows_the_bare() && SHAPES[shape].name == BARE {
                                0
                            } else {
                                shape
                            }
                        });
                        play(&env, round, ending, shapes, &mut dice)
                            .unwrap_or_else(|why| panic!("MUX_TEST_SEED={seed}: {why}"));
                    }
                })
            })
            .collect();
        for home in homes {
            home.join().unwrap();
        }
    });
}

/// One daemon with two servers, from its start to its end.
fn play(
    env: &TestEnv,
    round: usize,
    ending: Ending,
    shapes: [usize; 2],
    dice: &mut Dice,
) -> Result<(), String> {
    let witness = env.path(&format!("round-{round:03}.w"));
    fs::write(&witness, "").unwrap();
    let witness = witness.to_str().unwrap();
    let names = shapes.map(|shape| format!("s{round:03}_{}", SHAPES[shape].name));
    let names = [format!("{}_a", names[0]), format!("{}_b", names[1])];
    let what = format!("round {round}, {names:?}, {ending:?}");

    let late: &[&str] = if ending.is_in_start() {
        &["--slow-start", "100000"]
    } else {
        &[]
    };
    let entry = |n: usize, more| SHAPES[shapes[n]].entry(env, &names[n], witness, more);
    let first = entry(0, late);
    let second = entry(1, &[]);
    env.write_config(&format!("{first}{second}"));
    let own = ending.daemon_of_ones_own(env);
    // For a daemon that survived the previous round.
    env.mux(["reload"]).ok();
    let mut starting = None;
    for (n, name) in names.iter().enumerate() {
        let call = ["call".to_owned(), format!("{name}.echo"), "text=x".into()];
        if n == 0 && ending.is_in_start() {
            starting = Some(env.begin(call));
            until_started(env, name);
        } else {
            env.mux(call).ok();
        }
    }
    let daemon = Tree::of(env.daemon().unwrap());
    ending.happen(env, dice);

    let ended = Instant::now();
    if ending.takes_all() {
        // The next daemon starts immediately, and ends the leftovers.
        env.write_config(&env.fixture("next", &[]));
        env.mux(["call", "next.echo", "text=x"]).ok();
        return nothing_left(witness, ended, GONE, &what);
    }
    let within = if ending.is_polite() { PATIENCE } else { GONE };
    if ending.spares_the_daemon() {
        nothing_left(witness, ended, within, &what)?;
    } else {
        nothing_left(env.home().to_str().unwrap(), ended, within, &what)?;
        // Also of processes that do not mention the home, such as workers.
        let left = daemon.left_after(GONE);
        if !left.is_empty() {
            return Err(format!("{what}: {left:#?}"));
        }
    }
    if let Some(starting) = starting {
        let code = starting.wait().code;
        if code == 0 {
            return Err(format!("{what}: a call of what never started went well"));
        }
    }
    drop(own);
    Ok(())
}

/// Waits until the server's process runs. It does not answer yet.
fn until_started(env: &TestEnv, name: &str) {
    for _ in 0..2000 {
        if !env.starts(name).is_empty() {
            return;
        }
        env.mux(["status"]).ok();
    }
    panic!("{name} was not started");
}

/// Waits until no process mentions this string, and fails if some are left. Processes that were forked meanwhile have
/// as much time, and all of them `PATIENCE`.
fn nothing_left(text: &str, since: Instant, within: Duration, what: &str) -> Result<(), String> {
    loop {
        // Our own commands also mention the home.
        let mut found = process::mentioning(text);
        found.retain(|pid| *pid != std::process::id().cast_signed());
        if found.is_empty() {
            return Ok(());
        }
        let left = Tree::watch(found).left_after(within);
        if !left.is_empty() || since.elapsed() > PATIENCE {
            return Err(format!("{what}: after {:?}: {left:#?}", since.elapsed()));
        }
    }
}
