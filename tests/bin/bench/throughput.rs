//! Runs per second of several concurrent clients, and the effect of a rude client on a polite one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use mux_client::{ClientIdentity, Session, connect_or_spawn, run, within_seconds};
use mux_proto::{AnyKind, Kind, Outcome, RunRequest, endpoint::Dirs};

use super::{
    commands::Place,
    figures::{Samples, fact, row},
};

/// How long each figure is taken.
const WHILE: Duration = Duration::from_secs(5);
/// The numbers of concurrent clients.
const CROWDS: [usize; 3] = [1, 8, 50];
/// An innocent program: it calls a tool and computes a little.
const INNOCENT: &str = "const { sum } = await mux.fix.add({ a: 1, b: 2 }); return sum;";
/// Programs that are stopped, each by another limit.
const HOSTILE: [&str; 4] = [
    "for (;;);",
    "const kept = []; for (;;) kept.push({ a: [1, 2, 3] });",
    "Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);",
    "JSON.parse('[' + '[],'.repeat(2 ** 24) + '[]]');",
];
/// Runs between which the daemon's memory is compared.
const FEW: usize = 1_000;
const MANY: usize = 10_000;

pub(crate) async fn measure(place: &Place) -> anyhow::Result<()> {
    for clients in CROWDS {
        let sessions = sessions(place, "mux-bench", clients).await?;
        let (pings, asked) = crowd(&sessions, WHILE / 5, async |session| {
            session.client.status(within_seconds(10)).await??;
            Ok(())
        })
        .await?;
        let (runs, took) = crowd(&sessions, WHILE, async |session| {
            expect(session, "return 1", 1).await
        })
        .await?;
        let runs_each = rate(&runs, took);
        let pings_each = rate(&pings, asked);
        row(&format!("{clients} clients: return 1"), &runs);
        fact(
            &format!("{clients} clients: runs per second (goal 1,000 at 8)"),
            &format!(
                "{runs_each:.0}; status {pings_each:.0}, ratio {:.1}",
                pings_each / runs_each
            ),
        );
    }
    Ok(())
}

/// The same innocent runs, alone and beside hostile ones.
pub(crate) async fn measure_neighbours(place: &Place) -> anyhow::Result<()> {
    let polite = sessions(place, "polite", 1).await?;
    let innocent = async |session: &Session| expect(session, INNOCENT, 3).await;
    // The first starts the server and the worker.
    innocent(&polite[0]).await?;
    let (idle, _) = crowd(&polite, WHILE, innocent).await?;
    row("an innocent run, alone", &idle);
    for program in HOSTILE {
        let rude = sessions(place, "rude", 1).await?;
        let over = Arc::new(AtomicBool::new(false));
        let attack = attack(&rude[0], program, Arc::clone(&over));
        let defence = async {
            let measured = crowd(&polite, WHILE, innocent).await;
            over.store(true, Ordering::Relaxed);
            measured
        };
        let (attacks, measured) = tokio::join!(attack, defence);
        let (beside, _) = measured?;
        let shown: String = program.chars().take(32).collect();
        row(&format!("beside {} x `{shown}…`", attacks?), &beside);
        let ratio = beside.quantile(0.99).as_secs_f64() / idle.quantile(0.99).as_secs_f64();
        fact(
            "ratio of the p99 (goal 1.5 at most)",
            &format!("{ratio:.2}"),
        );
    }
    Ok(())
}

/// Measures whether the daemon grows with the runs that it has served.
pub(crate) async fn measure_growth(place: &Place) -> anyhow::Result<()> {
    let sessions = sessions(place, "mux-bench", 4).await?;
    runs(&sessions, FEW).await?;
    let before = resident(&sessions[0]).await?;
    runs(&sessions, MANY - FEW).await?;
    let after = resident(&sessions[0]).await?;
    fact(
        &format!("daemon's RSS after {MANY} runs minus after {FEW}"),
        &format!("{:+.1} MiB of {:.1} MiB", after - before, after),
    );
    Ok(())
}

async fn sessions(place: &Place, name: &str, count: usize) -> anyhow::Result<Vec<Session>> {
    let dirs = Dirs::under(place.home.path())?;
    let me = ClientIdentity::new(name, "1");
    let connect = (0..count).map(|_| connect_or_spawn(&dirs, Some(place.daemon.clone()), &me));
    Ok(try_join_all(connect).await?)
}

/// Everybody does the same again and again for so long. Gives each time, and how long it took in all.
async fn crowd(
    sessions: &[Session],
    duration: Duration,
    work: impl AsyncFn(&Session) -> anyhow::Result<()>,
) -> anyhow::Result<(Samples, Duration)> {
    let began = Instant::now();
    let each = sessions.iter().map(async |session| {
        let mut times = Vec::new();
        while began.elapsed() < duration {
            let asked = Instant::now();
            work(session).await?;
            times.push(asked.elapsed());
        }
        anyhow::Ok(times)
    });
    let mut samples = Samples::default();
    for time in try_join_all(each).await?.into_iter().flatten() {
        samples.push(time);
    }
    Ok((samples, began.elapsed()))
}

/// Runs the program until told to stop; each must fail by a limit.
async fn attack(session: &Session, program: &str, over: Arc<AtomicBool>) -> anyhow::Result<usize> {
    let mut attacks = 0;
    while !over.load(Ordering::Relaxed) {
        let request = RunRequest {
            source: program.into(),
            timeout_ms: Some(1_000),
            ..RunRequest::default()
        };
        let Outcome::Error(error) = run(session, request, |_| {}).await?.outcome else {
            anyhow::bail!("{program} should not have ended well");
        };
        let expected = [Kind::Timeout, Kind::Memory, Kind::Limit, Kind::Runtime].map(AnyKind::from);
        ensure!(expected.contains(&error.kind), "{program}: {error:?}");
        attacks += 1;
    }
    Ok(attacks)
}

async fn runs(sessions: &[Session], count: usize) -> anyhow::Result<()> {
    let share = count / sessions.len();
    let each = sessions.iter().map(async |session| {
        for _ in 0..share {
            expect(session, "return 1", 1).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(each).await?;
    Ok(())
}

async fn expect(session: &Session, source: &str, result: i64) -> anyhow::Result<()> {
    let request = RunRequest {
        source: source.into(),
        ..RunRequest::default()
    };
    match run(session, request, |_| {}).await?.outcome {
        Outcome::Result(value) if value == serde_json::Value::from(result) => Ok(()),
        other => anyhow::bail!("{source} gave {other:?}"),
    }
}

async fn resident(session: &Session) -> anyhow::Result<f64> {
    let status = session.client.status(within_seconds(10)).await??;
    let bytes = status.rss_bytes.context("the system tells no RSS")?;
    Ok(bytes as f64 / f64::from(1 << 20))
}

fn rate(samples: &Samples, took: Duration) -> f64 {
    samples.count() as f64 / took.as_secs_f64()
}
