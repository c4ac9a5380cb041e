//! One fault after the other, by chance.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mux_client::within_seconds;
use mux_proto::CallRequest;
use mux_tests::{dice::Dice, frames::Wire, process};
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use super::home::{Home, SERVERS, name};

/// What of a hundred faults is what.
const SHARES: [(usize, Fault); 8] = [
    (45, Fault::KillServer),
    (15, Fault::KillWorker),
    (10, Fault::DropMidFrame),
    (10, Fault::CorruptFrame),
    (9, Fault::DropMidCall),
    (7, Fault::Change),
    (3, Fault::Restart),
    (1, Fault::KillKeeper),
];

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Fault {
    KillServer,
    KillWorker,
    DropMidFrame,
    CorruptFrame,
    DropMidCall,
    Change,
    Restart,
    KillKeeper,
}

pub(crate) struct Faults {
    home: Arc<Home>,
    dice: Dice,
    counts: BTreeMap<Fault, u64>,
}

impl Faults {
    pub(crate) fn new(home: &Arc<Home>, seed: u64) -> Self {
        Self {
            home: Arc::clone(home),
            dice: Dice::new(seed, 1 << 32),
            counts: BTreeMap::new(),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(crate) fn summary(&self) -> String {
        let all = self.counts.iter();
        let all: Vec<String> = all.map(|(fault, n)| format!("{fault:?} {n}")).collect();
        all.join(", ")
    }

    pub(crate) async fn next(&mut self) {
        let mut left = self.dice.below(100);
        let all = SHARES.iter();
        let fault = all.copied().find_map(|(share, fault)| {
            let hit = left < share;
            left = left.saturating_sub(share);
            hit.then_some(fault)
        });
        let fault = fault.unwrap_or(Fault::KillServer);
        *self.counts.entry(fault).or_default() += 1;
        let server = self.dice.below(SERVERS);
        match fault {
            Fault::KillServer => {
                if let Some(pid) = self.home.env.starts(&name(server)).last() {
                    process::kill(*pid);
                }
            }
            Fault::KillWorker => self.kill_below("mux-worker"),
            // The keeper itself, or the guard above it.
            Fault::KillKeeper => self.kill_below("muxd"),
            Fault::DropMidFrame | Fault::CorruptFrame => {
                let (socket, dice) = (self.home.env.dirs.socket(), self.dice.clone());
                self.dice.draw();
                // A daemon that hangs is noticed by the clients.
                drop(spawn_blocking(move || rude(&socket, fault, dice)).await);
            }
            Fault::DropMidCall => self.drop_mid_call(server).await,
            Fault::Change => {
                self.home.change(server);
                if let Ok(session) = self.home.connect("changes").await {
                    drop(session.client.reload(within_seconds(30)).await);
                }
            }
            Fault::Restart => {
                if let Ok(session) = self.home.connect("restarts").await {
                    let wish = session
                        .client
                        .restart_server(within_seconds(30), name(server));
                    drop(wish.await);
                }
            }
        }
    }

    /// One of the processes of this name, if there is one.
    fn kill_below(&mut self, program: &str) {
        let Ok(daemon) = self.home.daemon() else {
            return;
        };
        let mut found = process::descendants(daemon);
        found.retain(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with(program))
        });
        if !found.is_empty() {
            process::kill(*self.dice.pick(&found));
        }
    }

    /// A client that goes while its call is on its way.
    async fn drop_mid_call(&mut self, server: usize) {
        let Ok(session) = self.home.connect("drops").await else {
            return;
        };
        let request = CallRequest {
            path: format!("{}.sleep", name(server)),
            arguments: json!({ "ms": 60_000 }).into(),
            ..CallRequest::default()
        };
        let within = Duration::from_millis(self.dice.below(200) as u64);
        drop(timeout(within, session.client.call(within_seconds(60), request)).await);
    }
}

/// A client that sends half a frame, or what is none.
fn rude(socket: &std::path::Path, fault: Fault, mut dice: Dice) {
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
