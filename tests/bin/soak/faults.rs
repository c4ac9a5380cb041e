//! One fault after the other, by chance.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use mux_client::within_seconds;
use mux_proto::{CallRequest, UpgradeRequest, version::CONTRACT};
use mux_tests::{
    dice::Dice,
    env::binary,
    frames::Wire,
    process::{self, command_line},
};
use serde_json::json;
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::home::{Home, SERVERS, name};

/// How many of a hundred faults are of each kind.
const SHARES: [(usize, Fault); 11] = [
    (39, Fault::KillServer),
    (14, Fault::KillWorker),
    (9, Fault::DropMidFrame),
    (9, Fault::CorruptFrame),
    (9, Fault::DropMidCall),
    (7, Fault::ChangeConfig),
    (3, Fault::BreakConfig),
    (3, Fault::Restart),
    (4, Fault::FillDisk),
    (2, Fault::Upgrade),
    (1, Fault::KillKeeper),
];

/// How long to wait for a restart before the next fault.
const MAX_RESTART_WAIT: Duration = Duration::from_secs(2);
/// How long a disk stays full.
const FULL_DISK_TIME: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Fault {
    KillServer,
    KillWorker,
    DropMidFrame,
    CorruptFrame,
    DropMidCall,
    ChangeConfig,
    BreakConfig,
    Restart,
    FillDisk,
    Upgrade,
    KillKeeper,
}

pub(crate) struct Faults {
    home: Arc<Home>,
    dice: Dice,
    counts: BTreeMap<Fault, u64>,
    /// The daemon that serves: the first one, or the last that took over.
    pub(crate) daemon: i32,
    /// Faults that could not be injected, which counts as a failure.
    pub(crate) problems: Vec<String>,
}

impl Faults {
    pub(crate) fn new(home: &Arc<Home>, seed: u64) -> anyhow::Result<Self> {
        Ok(Self {
            daemon: home.daemon()?,
            home: Arc::clone(home),
            dice: Dice::new(seed, 1 << 32),
            counts: BTreeMap::new(),
            problems: Vec::new(),
        })
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(crate) fn summary(&self) -> String {
        let all = self.counts.iter();
        let all: Vec<String> = all.map(|(fault, n)| format!("{fault:?} {n}")).collect();
        all.join(", ")
    }

    /// Does the next fault. Returns whether another daemon serves now.
    pub(crate) async fn next(&mut self) -> bool {
        let before = self.daemon;
        let fault = self.choose();
        *self.counts.entry(fault).or_default() += 1;
        let server = self.dice.below(SERVERS);
        let done = match fault {
            Fault::KillServer => {
                if let Some(pid) = self.home.env.starts(&name(server)).last() {
                    process::kill(*pid);
                }
                Ok(())
            }
            Fault::KillWorker => {
                self.kill_one(process::descendants(self.daemon), "mux-worker");
                Ok(())
            }
            // The keeper itself, or the guard above it. The keeper is not a child of a daemon that
            // took over.
            Fault::KillKeeper => {
                let home = self.home.env.home().display().to_string();
                let mut keepers = process::mentioning(&home);
                keepers.retain(|pid| command_line(*pid).contains(" keeper "));
                self.kill_one(keepers, "muxd");
                Ok(())
            }
            Fault::DropMidFrame | Fault::CorruptFrame => {
                let socket = self.home.env.dirs.socket();
                let dice = self.dice.clone();
                self.dice.draw();
                // A daemon that hangs is noticed by the agents.
                drop(spawn_blocking(move || send_bad_frame(&socket, fault, dice)).await);
                Ok(())
            }
            Fault::DropMidCall => self.drop_mid_call(server).await,
            Fault::ChangeConfig => {
                self.home.change(server);
                self.reload().await
            }
            Fault::BreakConfig => self.break_config().await,
            Fault::Restart => self.restart(server).await,
            Fault::FillDisk => self.fill_disk().await,
            Fault::Upgrade => self.upgrade().await,
        };
        if let Err(error) = done {
            self.problems.push(format!("{fault:?}: {error:#}"));
        }
        self.daemon != before
    }

    fn choose(&mut self) -> Fault {
        let mut left = self.dice.below(100);
        let all = SHARES.iter();
        let fault = all.copied().find_map(|(share, fault)| {
            let hit = left < share;
            left = left.saturating_sub(share);
            hit.then_some(fault)
        });
        match fault.unwrap_or(Fault::KillServer) {
            Fault::FillDisk if self.home.disk_problem.is_some() => Fault::KillServer,
            fault => fault,
        }
    }

    /// Kills one of the processes with this name, if there is one.
    fn kill_one(&mut self, mut found: Vec<i32>, program: &str) {
        found.retain(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with(program))
        });
        if !found.is_empty() {
            process::kill(*self.dice.pick(&found));
        }
    }

    /// A client that disconnects during its call.
    async fn drop_mid_call(&mut self, server: usize) -> anyhow::Result<()> {
        let session = self.home.connect("drops").await?;
        let request = CallRequest {
            path: format!("{}.sleep", name(server)),
            arguments: json!({ "ms": 60_000 }).into(),
            ..CallRequest::default()
        };
        let within = Duration::from_millis(self.dice.below(200) as u64);
        drop(timeout(within, session.client.call(within_seconds(60), request)).await);
        Ok(())
    }

    async fn reload(&self) -> anyhow::Result<()> {
        let session = self.home.connect("changes").await?;
        session.client.reload(within_seconds(60)).await??;
        Ok(())
    }

    /// A configuration that cannot be parsed. The last good one stays active.
    async fn break_config(&self) -> anyhow::Result<()> {
        self.home.break_config();
        let refused = self.reload().await;
        self.home.configure();
        self.reload().await?;
        anyhow::ensure!(refused.is_err(), "a broken configuration was accepted");
        Ok(())
    }

    async fn restart(&self, server: usize) -> anyhow::Result<()> {
        let session = self.home.connect("restarts").await?;
        let asked = session
            .client
            .restart_server(within_seconds(60), name(server));
        // The server may be killed meanwhile, or take long to end.
        drop(timeout(MAX_RESTART_WAIT, asked).await);
        Ok(())
    }

    /// The disks of the daemon's state and cache are full for a while.
    async fn fill_disk(&self) -> anyhow::Result<()> {
        let home = Arc::clone(&self.home);
        let fillers = spawn_blocking(move || home.fill_disks()).await?;
        sleep(FULL_DISK_TIME).await;
        for filler in fillers {
            std::fs::remove_file(&filler).with_context(|| filler.display().to_string())?;
        }
        Ok(())
    }

    async fn upgrade(&mut self) -> anyhow::Result<()> {
        let session = self.home.connect("upgrades").await?;
        let request = UpgradeRequest {
            binary: binary("muxd"),
            contract: CONTRACT,
        };
        let upgraded = session.client.upgrade(within_seconds(120), request);
        self.daemon = i32::try_from(upgraded.await??.pid)?;
        Ok(())
    }
}

/// A client that sends half a frame, or bytes that are not a frame.
fn send_bad_frame(socket: &Path, fault: Fault, mut dice: Dice) {
    let mut wire = Wire::connect(socket);
    if dice.one_in(2) {
        wire = Wire::greeted(socket);
    }
    let mut bytes: Vec<u8> = match fault {
        Fault::DropMidFrame => {
            let frame = br#"{"Request":{"context":{"deadline":{"secs":30,"nanos":0},"#;
            let length = (frame.len() as u32 + 100).to_be_bytes();
            [&length[..], frame].concat()
        }
        _ => (0..dice.below(4000)).map(|_| dice.draw() as u8).collect(),
    };
    bytes.truncate(1 + dice.below(bytes.len().max(1)));
    // The daemon may hang up before it has read it all.
    wire.send_bytes(&bytes).ok();
}
