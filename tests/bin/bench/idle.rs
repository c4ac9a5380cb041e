//! An idle daemon: the memory that it keeps, and the events that wake it.

use std::{fmt::Write as _, path::Path, thread, time::Duration};

use super::{
    commands::Place,
    echo::Echo,
    figures::fact,
    processes::{Memory, ProcessSample, Work, descriptors, mebibytes, name, threads},
};

/// Servers in the pool, each with a session.
const POOLS: [usize; 2] = [0, 10];
/// Until unneeded workers and idle threads have exited.
const SETTLED: Duration = Duration::from_secs(40);
/// We cannot fix the behavior of the user's server.
const SERVER: &str = "mux-fixture-ser";

pub(crate) fn measure(place: &Place, tsc: &Path, minutes: u64) -> anyhow::Result<()> {
    let watched = Duration::from_secs(minutes * 60);
    let bare = Echo::start()?;
    let baseline = Memory::of(bare.pid()?)?;
    fact(
        "baseline, a bare tokio server on a Unix socket",
        &shown(baseline),
    );
    for servers in POOLS {
        one(place, tsc, servers, watched, baseline)?;
    }
    Ok(())
}

fn one(
    place: &Place,
    tsc: &Path,
    servers: usize,
    watched: Duration,
    baseline: Memory,
) -> anyhow::Result<()> {
    let mut config = format!("[check]\ntsc = {tsc:?}\n");
    for n in 0..servers {
        _ = write!(config, "[servers.s{n}]\ncommand = {:?}\n", place.fixture);
    }
    let home = place.beside(&config)?;
    for n in 0..servers {
        home.mux(&["call", &format!("s{n}.echo"), "text=hello"])?;
    }
    home.mux(&["run", "-e", "return 1"])?;
    let daemon = home.pid()?;
    thread::sleep(SETTLED);
    let before = ProcessSample::at(daemon);
    thread::sleep(watched);
    let after = ProcessSample::at(daemon);

    fact(
        &format!("with {servers} servers open, over {} s", watched.as_secs()),
        "",
    );
    let mut all = Work::default();
    let mut memory = Memory::default();
    for pid in after.pids() {
        let name = name(pid);
        let work = after.since(&before, pid);
        let held = Memory::of(pid)?;
        if name == SERVER {
            continue;
        }
        fact(
            &format!("  {name}"),
            &format!(
                "{}; {}; {} threads, {} descriptors",
                shown(held),
                work_summary(work),
                threads(pid),
                descriptors(pid)
            ),
        );
        all = all + work;
        memory.pss += held.pss;
        memory.private += held.private;
    }
    fact(
        "  all but the servers (goal 3 wake-ups/s, 0.1 % CPU)",
        &format!(
            "PSS {:.1} MiB, private {:.1} MiB; {}",
            mebibytes(memory.pss),
            mebibytes(memory.private),
            work_summary(all)
        ),
    );
    let held = Memory::of(daemon)?;
    fact(
        "  ratio muxd / bare server",
        &format!(
            "RSS {:.1}, private {:.1}",
            held.rss as f64 / baseline.rss as f64,
            held.private as f64 / baseline.private as f64
        ),
    );
    Ok(())
}

fn shown(memory: Memory) -> String {
    format!(
        "RSS {:.1}, PSS {:.1}, private {:.1} MiB",
        mebibytes(memory.rss),
        mebibytes(memory.pss),
        mebibytes(memory.private)
    )
}

pub(crate) fn work_summary(work: Work) -> String {
    format!(
        "{:.2} wake-ups/s, CPU {:.4} %",
        work.wakes_per_second, work.cpu_percent
    )
}
