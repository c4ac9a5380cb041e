//! One daemon, an innocent server that is called all the time, and the servers of the rows, one at a time.
//!
//! Invariant: no test waits by sleeping. Tests wait by calling the innocent server.

use std::time::{Duration, Instant};

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{CallRequest, Held, MetricsFormat, Outcome, RunRequest, metrics_text};
use mux_tests::{Canary, TestEnv, env::binary, process};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, sync::watch};

use super::rows::{Must, Row};

/// The growth of the daemon, in bytes, that is not looked into. Some lists of the rows are kept, as they should be.
const KEPT: u64 = 40 << 20;
/// The maximum growth, in bytes, of a daemon that keeps more after one row, but no more when the row is repeated.
const MAX_KEPT: u64 = 4 * KEPT;
/// The maximum time until the daemon has released its memory.
const REST: Duration = Duration::from_secs(30);
/// The timeout of a call of the innocent server, in seconds.
const HANG: u64 = 20;
/// The timeout of a row, in seconds.
const PATIENCE: u64 = 300;

pub(super) struct Arena {
    runtime: Runtime,
    session: Session,
    daemon: i32,
    resident: u64,
    canary: Canary,
    other: i32,
    /// Dropped last, because the other fields are connected to its daemon.
    env: TestEnv,
}

impl Arena {
    pub(super) fn new(rows: &[Row]) -> Self {
        let env = TestEnv::new().watching_polls();
        let mut config = env.fixture("other", &[]);
        for row in rows {
            let kind = row.flags.iter().any(|flag| flag.starts_with("--hostile"));
            let hostile: &[&str] = if kind { &[] } else { &["--hostile"] };
            config += &env.fixture(row.name, &[hostile, row.flags].concat());
            config += row.entry;
        }
        env.write_config(&config);
        env.mux(["run", "-e", "return 1"]).ok();
        let runtime = Runtime::new().unwrap();
        let session = runtime.block_on(async {
            let me = ClientIdentity::new("victim", "0");
            let session = mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &me)
                .await
                .unwrap();
            // Warm up workers and sessions.
            for n in 0..20 {
                call_other(&session, n).await.unwrap();
                run(&session, "return 1", "other").await;
            }
            session
        });
        let daemon = env.daemon().unwrap();
        Self {
            runtime,
            session,
            daemon,
            resident: process::resident_bytes(daemon),
            canary: Canary::of(daemon),
            other: env.starts("other")[0],
            env,
        }
    }

    /// Checks one row. The error lists the problems.
    pub(super) fn check(&self, row: &Row) -> Result<(), String> {
        self.runtime.block_on(self.check_beside_calls(row))
    }

    async fn check_beside_calls(&self, row: &Row) -> Result<(), String> {
        self.canary.begin(&self.metrics().await);
        let (over, is_over) = watch::channel(false);
        let harm = async {
            let outcome = run(&self.session, row.program, row.name).await;
            over.send_replace(true);
            outcome
        };
        let (outcome, beside) = tokio::join!(harm, self.call_all_along(is_over));
        let problems = [
            judge(&outcome, &row.must),
            beside,
            self.canary.end(row.name, &self.metrics().await),
            self.start_again(row).await,
            self.check_memory(row).await,
            same("the daemon", self.env.daemon(), Some(self.daemon)),
            same(
                "the other's processes",
                self.env.starts("other"),
                vec![self.other],
            ),
        ];
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("; "))
        }
    }

    async fn metrics(&self) -> String {
        let metrics = self.session.client.metrics(within_seconds(HANG)).await;
        metrics_text(&metrics.unwrap().unwrap(), MetricsFormat::Prometheus)
    }

    /// Calls the other server until the row is over, and then once more.
    async fn call_all_along(&self, is_over: watch::Receiver<bool>) -> Result<(), String> {
        for n in 0.. {
            let last = *is_over.borrow();
            call_other(&self.session, n).await?;
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Restarts the row's server, which must work then.
    async fn start_again(&self, row: &Row) -> Result<(), String> {
        if matches!(row.must, Must::Fail("unavailable", _)) {
            // The server's lists are still invalid.
            return Ok(());
        }
        let restarted = self
            .session
            .client
            .restart_server(within_seconds(PATIENCE), row.name.to_owned())
            .await
            .map_err(|why| format!("the restart was not answered: {why}"))?;
        let path = format!("{}.echo", row.name);
        restarted.map_err(|error| format!("it does not start again: {error:?}"))?;
        let answer = call(&self.session, &path, json!({ "text": "again" })).await;
        same("after a restart", answer, Ok(json!("again")))
    }

    /// How much memory an allocator keeps depends on the machine, but the leftovers of a row do not grow when the row
    /// is repeated.
    async fn check_memory(&self, row: &Row) -> Result<(), String> {
        let first = self.settled_growth(KEPT).await?;
        if first <= KEPT {
            return Ok(());
        }
        run(&self.session, row.program, row.name).await;
        self.start_again(row).await?;
        let most = first + KEPT / 4;
        let second = self.settled_growth(most).await?;
        if second <= most && second <= MAX_KEPT {
            return Ok(());
        }
        let peak = process::peak_bytes(self.daemon).saturating_sub(self.resident);
        let first = first >> 20;
        let second = second >> 20;
        let peak = peak >> 20;
        Err(format!(
            "the daemon has grown by {first} MiB, and by {second} MiB after a repetition, {peak} at its peak"
        ))
    }

    /// Waits until the daemon has grown by at most `enough` bytes, or for as long as releasing memory may take, and
    /// returns its growth.
    async fn settled_growth(&self, enough: u64) -> Result<u64, String> {
        let until = Instant::now() + REST;
        let mut least = u64::MAX;
        for n in 0.. {
            let grown = process::resident_bytes(self.daemon).saturating_sub(self.resident);
            least = least.min(grown);
            if least <= enough || Instant::now() > until {
                break;
            }
            call_other(&self.session, n).await?;
        }
        Ok(least)
    }
}

async fn call_other(session: &Session, n: u64) -> Result<(), String> {
    let answer = call(session, "other.add", json!({ "a": n, "b": 1 })).await;
    same("another server", answer, Ok(json!({ "sum": n + 1 })))
}

async fn call(session: &Session, path: &str, arguments: Value) -> Result<Value, String> {
    let request = CallRequest {
        path: path.into(),
        arguments: arguments.into(),
        ..CallRequest::default()
    };
    let answer = session.client.call(within_seconds(HANG), request).await;
    match answer.map(|answer| answer.map(|answer| answer.result)) {
        Ok(Ok(Held::Value(value))) => Ok(value.to_value()),
        other => Err(format!("{other:?}")),
    }
}

async fn run(session: &Session, program: &str, server: &str) -> Outcome {
    let request = RunRequest {
        source: format!("const it = mux[mux.input];\n{program}"),
        input: json!(server).into(),
        timeout_ms: Some(PATIENCE * 1000),
        ..RunRequest::default()
    };
    let finished = mux_client::run(session, request, |_| {}).await;
    finished.unwrap().outcome
}

fn judge(outcome: &Outcome, must: &Must) -> Result<(), String> {
    match (outcome, must) {
        (Outcome::Result(value), Must::Give(json)) => {
            let wanted: Value = serde_json::from_str(json).unwrap();
            same("its program", &value.to_value(), &wanted)
        }
        (Outcome::Error(error), Must::Fail(kind, says)) => {
            let found = serde_json::to_value(&error.kind).unwrap();
            same("the kind of error", found, json!(kind))
                .map_err(|why| format!("{why}: {}", error.message))?;
            let hint = error.hint.as_deref().unwrap_or_default();
            if format!("{} {hint}", error.message).contains(says) {
                Ok(())
            } else {
                Err(format!("{says:?} is missing in {error:?}"))
            }
        }
        (outcome, Must::Give(json)) => Err(format!("{outcome:?}, not {json}")),
        (outcome, Must::Fail(kind, _)) => Err(format!("{outcome:?}, not {kind}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{what}: {actual:?}, not {expected:?}"))
}
