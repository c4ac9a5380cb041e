//! At-most-once execution: 10,000 calls with an effect, while their servers are killed, restarted and changed.
//!
//! Each call appends its number to a file of its server. Invariant: no number occurs there twice. A call with a result
//! has had its effect, a call that was not sent has had none, and every other call fails with an unknown outcome.

use std::{
    collections::HashMap,
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{CallRequest, Error, Held, Kind, Outcome, RunRequest};
use mux_tests::{
    TestEnv,
    dice::{self, Dice},
    env::binary,
    process,
};
use serde_json::json;
use tokio::{sync::watch, task::JoinSet};

const CALLS: usize = 10_000;
const SERVERS: usize = 5;
const CLIENTS: usize = 8;
/// Concurrent callers per client.
const CALLERS: usize = 5;
/// The maximum number of calls between two faults.
const PEACE: usize = 50;
/// The timeout of one call in seconds. Only a hang is longer.
const PATIENCE: u64 = 100;

/// The outcome of a call as its caller knows it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Told {
    Done,
    /// The call may have been executed.
    Unknown,
    /// The call was not sent.
    Unsent,
}

struct Place {
    env: TestEnv,
    seed: u64,
    next: AtomicUsize,
    done: watch::Sender<usize>,
    told: Mutex<HashMap<usize, Told>>,
    /// How often the environment variables of each server were changed.
    versions: Mutex<[usize; SERVERS]>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_faults_run_at_most_once_and_report_the_right_outcome() {
    let seed = dice::seed();
    let place = Arc::new(Place {
        env: TestEnv::new(),
        seed,
        next: AtomicUsize::new(0),
        done: watch::Sender::new(0),
        told: Mutex::default(),
        versions: Mutex::default(),
    });
    place.configure();
    let mut callers = JoinSet::new();
    for client in 0..CLIENTS {
        let session = connect(&place.env, client).await;
        for caller in 0..CALLERS {
            let place = Arc::clone(&place);
            let session = session.clone();
            let dice = Dice::new(seed, (client * CALLERS + caller) as u64);
            callers.spawn(async move { place.call_on(&session, dice).await });
        }
    }
    let mischief = tokio::spawn(Arc::clone(&place).make_mischief());
    while let Some(ended) = callers.join_next().await {
        ended.unwrap_or_else(|why| panic!("MUX_TEST_SEED={seed}: {why}"));
    }
    let faults = mischief.await.unwrap();
    place.judge(&faults);
}

async fn connect(env: &TestEnv, client: usize) -> Session {
    let me = ClientIdentity::new(format!("caller-{client}"), "0");
    let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &me);
    session.await.unwrap()
}

impl Place {
    fn effects(&self, server: usize) -> std::path::PathBuf {
        self.env.path(&format!("effects-{server}"))
    }

    /// Writes the configuration. A new version changes the definition, so a reload replaces the server.
    fn configure(&self) {
        let versions = *self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |server: usize| {
            let entry = self.env.fixture(&format!("s{server}"), &[]);
            format!("{entry}env = {{ VERSION = \"{}\" }}\n", versions[server])
        };
        self.env
            .write_config(&(0..SERVERS).map(entry).collect::<String>());
    }

    /// Runs one caller, which makes calls one after the other until all are made.
    async fn call_on(&self, session: &Session, mut dice: Dice) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= CALLS {
                return;
            }
            let server = dice.below(SERVERS);
            // Some calls kill their server: before, during or after the effect.
            let tool = match dice.below(400) {
                0 => "die_before",
                1 => "die_mid",
                2 => "die_after",
                _ => "side_effect",
            };
            let arguments = json!({ "file": self.effects(server), "line": number.to_string() });
            let path = format!("s{server}.{tool}");
            let told = if dice.one_in(50) {
                in_program(session, &path, arguments).await
            } else {
                alone(session, path, arguments).await
            };
            let told = told.map_or_else(|error| judge(&error), |()| Told::Done);
            let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(number, told);
            drop(all);
            self.done.send_modify(|done| *done += 1);
        }
    }

    /// Kills, restarts and changes servers at moments that do not depend on calls.
    async fn make_mischief(self: Arc<Self>) -> HashMap<&'static str, usize> {
        let mut dice = Dice::new(self.seed, 1 << 32);
        let mut faults = HashMap::new();
        let mut done = self.done.subscribe();
        let session = connect(&self.env, CLIENTS).await;
        let daemon = self.env.daemon().unwrap();
        loop {
            let next = *done.borrow() + 1 + dice.below(PEACE);
            if next >= CALLS || done.wait_for(|done| *done >= next).await.is_err() {
                break;
            }
            // Move from the end of a call into the middle of others.
            for _ in 0..dice.below(500) {
                tokio::task::yield_now().await;
            }
            let server = dice.below(SERVERS);
            let name = format!("s{server}");
            let fault = match dice.below(40) {
                0 => {
                    let all = process::descendants(daemon);
                    let is_keeper = |pid: &&i32| process::command_line(**pid).contains("keeper");
                    // The guard or the keeper, whichever is listed first.
                    if let Some(pid) = all.iter().find(is_keeper) {
                        process::kill(*pid);
                    }
                    "keeper killed"
                }
                1 | 2 => {
                    let restarted = session
                        .client
                        .restart_server(within_seconds(PATIENCE), name);
                    drop(restarted.await.unwrap());
                    "restarted"
                }
                3 | 4 => {
                    self.versions.lock().unwrap_or_else(PoisonError::into_inner)[server] += 1;
                    self.configure();
                    session
                        .client
                        .reload(within_seconds(PATIENCE))
                        .await
                        .unwrap()
                        .unwrap();
                    "changed"
                }
                _ => {
                    if let Some(pid) = self.env.starts(&name).last() {
                        process::kill(*pid);
                    }
                    "killed"
                }
            };
            *faults.entry(fault).or_default() += 1;
        }
        assert_eq!(self.env.daemon(), Some(daemon), "another daemon");
        faults
    }

    fn judge(&self, faults: &HashMap<&'static str, usize>) {
        let mut effects: HashMap<usize, usize> = HashMap::new();
        for server in 0..SERVERS {
            let lines = fs::read_to_string(self.effects(server)).unwrap_or_default();
            for line in lines.lines() {
                *effects.entry(line.parse().unwrap()).or_default() += 1;
            }
        }
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: HashMap<Told, usize> = HashMap::new();
        for number in 0..CALLS {
            let told = told[&number];
            let times = effects.get(&number).copied().unwrap_or(0);
            *counts.entry(told).or_default() += 1;
            let holds = match told {
                Told::Done => times == 1,
                Told::Unknown => times <= 1,
                Told::Unsent => times == 0,
            };
            let seed = self.seed;
            assert!(
                holds,
                "MUX_TEST_SEED={seed}: call {number} has happened {times} times and its caller was told {told:?}"
            );
        }
        // Otherwise the test tried too little.
        let of = |told| counts.get(&told).copied().unwrap_or(0);
        let killed = faults.get("killed").copied().unwrap_or(0);
        let tried = killed >= 50 && of(Told::Unknown) > 0 && of(Told::Done) > CALLS / 4;
        assert!(tried, "{counts:?} after {faults:?}");
    }
}

async fn alone(session: &Session, path: String, arguments: serde_json::Value) -> Result<(), Error> {
    let request = CallRequest {
        path,
        arguments: arguments.into(),
        ..CallRequest::default()
    };
    let held = session.client.call(within_seconds(PATIENCE), request);
    held.await.unwrap().map(|answer| match answer.result {
        Held::Value(_) => {}
        Held::Stored(_) => panic!("nothing is that long"),
    })
}

async fn in_program(
    session: &Session,
    path: &str,
    arguments: serde_json::Value,
) -> Result<(), Error> {
    let request = RunRequest {
        source: "return await mux.call(mux.input.path, mux.input.arguments)".into(),
        input: json!({ "path": path, "arguments": arguments }).into(),
        ..RunRequest::default()
    };
    match mux_client::run(session, request, |_| {})
        .await
        .unwrap()
        .outcome
    {
        Outcome::Error(error) => Err(error),
        Outcome::Result(_) | Outcome::Stored(_) => Ok(()),
    }
}

fn judge(error: &Error) -> Told {
    match error.kind.known() {
        Some(Kind::UnknownOutcome) => Told::Unknown,
        Some(Kind::Unavailable) => Told::Unsent,
        _ => panic!("no caller should be told this: {error:?}"),
    }
}
