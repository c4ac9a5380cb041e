//! A thousand connected idle clients, beside one that works.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures::future::try_join_all;
use mux_client::{ClientIdentity, Session, connect, within_seconds};
use mux_proto::{CallRequest, NoticesRequest, endpoint::Dirs};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::{task::JoinSet, time::sleep};

use super::{
    commands::Place,
    echo::{self, Echo},
    figures::{Samples, fact, millis, row},
    idle::work_summary,
    processes::{Memory, ProcessSample, descriptors},
};

const CLIENTS: usize = 1_000;
/// The default limit of a program, under systemd and elsewhere.
const USUAL: u64 = 1_024;
/// The descriptors that we need ourselves, including one end of each connection.
const OURS: u64 = 4_096;
/// Memory that is being given back has been given back.
const SETTLED: Duration = Duration::from_secs(4);
/// How long their daemon is watched.
const WATCHED: Duration = Duration::from_secs(30);
/// Longer than that.
const POLL: Duration = Duration::from_secs(25);

pub(crate) async fn measure(place: &Place, rounds: usize) -> anyhow::Result<()> {
    allow(USUAL)?;
    // The daemon is started with the usual limit, and must raise it.
    let config = format!("[servers.fix]\ncommand = {:?}\n", place.fixture);
    let home = place.beside(&config)?;
    home.mux(&["call", "fix.echo", "text=hello"])?;
    allow(OURS)?;
    let bare = baseline(rounds).await?;

    let daemon = home.pid()?;
    let dirs = Dirs::under(home.home.path())?;
    let me = ClientIdentity::new("mux-bench", "1");
    let working = connect(&dirs, &me).await?;
    let alone = calls(&working, rounds).await?;
    row("muxd: a warm call, alone", &alone);
    let before = Memory::of(daemon)?;

    let mut idle = Vec::new();
    let mut connecting = Samples::default();
    for _ in 0..CLIENTS {
        let began = Instant::now();
        idle.push(connect(&dirs, &me).await?);
        connecting.push(began.elapsed());
    }
    row("muxd: connect and say hello", &connecting);
    let all = millis(connecting.total());
    fact(
        &format!("muxd: all {CLIENTS}, one after the other"),
        &format!(
            "{all:.0} ms, ratio to the bare server {:.1}",
            all / bare.took
        ),
    );
    let each = per_client(daemon, before)?;
    fact(
        "muxd: private memory per idle client (goal 20 KiB)",
        &format!("{each:.1} KiB, ratio {:.1}", each / bare.each),
    );
    fact("muxd: descriptors", &descriptors(daemon).to_string());
    let look = ProcessSample::at(daemon);
    sleep(WATCHED).await;
    let work = ProcessSample::at(daemon).since(&look, daemon);
    fact("muxd: while they are silent", &work_summary(work));
    let beside = calls(&working, rounds).await?;
    row("muxd: the same call beside them", &beside);
    let ratio = beside.median().as_secs_f64() / alone.median().as_secs_f64();
    fact("ratio beside them / alone at p50", &format!("{ratio:.2}"));
    drop(idle);
    sleep(SETTLED).await;
    fact(
        "muxd: what is left of it when they have gone",
        &format!("{:.1} KiB per client", per_client(daemon, before)?),
    );

    at_once(&dirs, &me, daemon, before).await
}

/// All of them at the same moment, each then waiting for notices as `mux mcp` does.
async fn at_once(
    dirs: &Dirs,
    me: &ClientIdentity,
    daemon: i32,
    before: Memory,
) -> anyhow::Result<()> {
    let mut connecting = Samples::default();
    let began = Instant::now();
    let sessions = try_join_all((0..CLIENTS).map(|_| connect(dirs, me))).await?;
    connecting.push(began.elapsed());
    fact(
        &format!("muxd: {CLIENTS} that connect at the same moment"),
        &format!("{:.0} ms", millis(connecting.median())),
    );
    let mut waiting = JoinSet::new();
    for session in sessions {
        waiting.spawn(async move {
            loop {
                let request = NoticesRequest {
                    wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX),
                    ..NoticesRequest::default()
                };
                if session
                    .client
                    .notices(within_seconds(60), request)
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    sleep(SETTLED).await;
    let each = per_client(daemon, before)?;
    fact(
        "muxd: private memory per client that waits for notices",
        &format!("{each:.1} KiB"),
    );
    let look = ProcessSample::at(daemon);
    sleep(WATCHED).await;
    let work = ProcessSample::at(daemon).since(&look, daemon);
    fact(
        &format!("muxd: while each asks again after {} s", POLL.as_secs()),
        &work_summary(work),
    );
    Ok(())
}

/// The bare server with as many connections.
struct Bare {
    took: f64,
    /// In KiB.
    each: f64,
}

async fn baseline(rounds: usize) -> anyhow::Result<Bare> {
    let bare = Echo::start()?;
    let mut working = bare.connect().await?;
    let before = Memory::of(bare.pid()?)?;
    let mut connecting = Samples::default();
    let mut idle = Vec::new();
    for _ in 0..CLIENTS {
        let began = Instant::now();
        idle.push(bare.connect().await?);
        connecting.push(began.elapsed());
    }
    row(
        "bare server: connect, one message there and back",
        &connecting,
    );
    let took = millis(connecting.total());
    fact(
        &format!("bare server: all {CLIENTS}, one after the other"),
        &format!("{took:.0} ms"),
    );
    let each = per_client(bare.pid()?, before)?;
    fact(
        "bare server: private memory per client",
        &format!("{each:.1} KiB"),
    );
    let mut asked = Samples::default();
    for _ in 0..rounds {
        let began = Instant::now();
        echo::ask(&mut working).await?;
        asked.push(began.elapsed());
    }
    row("bare server: there and back beside them", &asked);
    Ok(Bare { took, each })
}

/// In KiB.
fn per_client(pid: i32, before: Memory) -> anyhow::Result<f64> {
    // Pages that were read from the program file meanwhile are not theirs, but few.
    let grown = Memory::of(pid)?.private.saturating_sub(before.private);
    Ok(grown as f64 / 1024.0 / CLIENTS as f64)
}

async fn calls(session: &Session, rounds: usize) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..rounds {
        let request = CallRequest {
            path: "fix.echo".into(),
            arguments: json!({ "text": "hello" }).into(),
            ..CallRequest::default()
        };
        let began = Instant::now();
        let answer = session.client.call(within_seconds(30), request).await?;
        samples.push(began.elapsed());
        answer.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    }
    Ok(samples)
}

/// Allows this many descriptors, for this process and its future children.
fn allow(descriptors: u64) -> anyhow::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let soft = descriptors.min(hard);
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).context("cannot set the limit of descriptors")
}
