//! The worker pool: the order of the queue, the number of workers, and lost workers.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture, future::join_all};
use mux_sandbox::{MemoryLimits, Pool, PoolLimits, PoolSettings, ProgramLimits, ToolHost};
use mux_tests::{
    left_out,
    pool::{self, Nothing},
};
use mux_wire::{CallTarget, ConsoleLevel, Fault, FaultKind, LOW_PRIORITY};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A program that ends when the test lets it.
const WAITS: &str = "return await mux.test.wait()";

/// Records the order in which programs begin, and holds their calls until permits are added to `open`.
#[derive(Clone)]
struct Gate {
    begun: Arc<Mutex<Vec<String>>>,
    open: Arc<Semaphore>,
    name: String,
}

impl Gate {
    fn new() -> Self {
        Self {
            begun: Arc::default(),
            open: Arc::new(Semaphore::new(0)),
            name: String::new(),
        }
    }

    fn named(&self, name: &str) -> Arc<dyn ToolHost> {
        Arc::new(Self {
            name: name.into(),
            ..self.clone()
        })
    }

    fn order(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }
}

impl ToolHost for Gate {
    fn run_started(&self) {
        self.begun.lock().unwrap().push(self.name.clone());
    }

    fn call(&self, _: CallTarget, _: String) -> BoxFuture<'static, Result<String, Fault>> {
        let open = Arc::clone(&self.open);
        async move {
            open.acquire().await.unwrap().forget();
            Ok("1".into())
        }
        .boxed()
    }

    fn console(&self, _: ConsoleLevel, _: String) {}

    fn emit(&self, _: String) {}
}

fn start(change: impl FnOnce(&mut PoolSettings)) -> Pool {
    let mut settings = pool::settings();
    change(&mut settings);
    Pool::start(settings).unwrap()
}

async fn run(
    pool: Pool,
    owner: &str,
    client: u64,
    host: Arc<dyn ToolHost>,
) -> Result<String, Fault> {
    let mut request = pool::request(WAITS, ProgramLimits::default());
    request.turn = pool::turn(owner, client);
    let never = CancellationToken::new();
    pool.run(request, host, &never).await
}

/// Waits until the condition is true, for at most a minute.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let patience = Duration::from_mins(1);
    let waiting = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !condition() {
            ticks.tick().await;
        }
    };
    let waited = tokio::time::timeout(patience, waiting).await;
    waited.unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

#[tokio::test]
async fn owner_with_500_queued_runs_does_not_starve_another() {
    let pool = start(|settings| {
        settings.bounds.ceiling = 1;
        settings.bounds.queue = 1_000;
        settings.runs_per_worker = 1_000;
        settings.queue_timeout = Duration::from_secs(170);
    });
    let gate = Gate::new();
    let greedy: Vec<_> = (0..500)
        .map(|_| tokio::spawn(run_owned(&pool, "greedy", 1, gate.named("greedy"))))
        .collect();
    until("the line", || pool.status().waiting == 499).await;
    let modest = tokio::spawn(run_owned(&pool, "modest", 2, gate.named("modest")));
    until("the line", || pool.status().waiting == 500).await;
    // The first run of `greedy` has begun. The run of `modest` is next, or after one more of the earlier
    // runs.
    gate.open.add_permits(501);
    assert_eq!(modest.await.unwrap().unwrap(), "1");
    let order = gate.order();
    let place = order.iter().position(|name| name == "modest").unwrap();
    assert!(place <= 2, "{place} in {:?}", &order[..=place]);
    for run in greedy {
        assert_eq!(run.await.unwrap().unwrap(), "1");
    }
}

/// As `run`, as a future that a task can own.
fn run_owned(
    pool: &Pool,
    owner: &str,
    client: u64,
    host: Arc<dyn ToolHost>,
) -> impl Future<Output = Result<String, Fault>> + use<> {
    let pool = pool.clone();
    let owner = owner.to_owned();
    async move { run(pool, &owner, client, host).await }
}

#[tokio::test]
async fn full_queue_is_busy_and_one_owner_gets_half_of_it() {
    let pool = start(|settings| {
        settings.bounds.ceiling = 1;
        settings.bounds.queue = 4;
    });
    let gate = Gate::new();
    let mut runs = vec![tokio::spawn(run_owned(&pool, "a", 1, gate.named("a")))];
    until("the first to begin", || gate.order().len() == 1).await;
    for _ in 0..2 {
        runs.push(tokio::spawn(run_owned(&pool, "a", 1, gate.named("a"))));
    }
    until("the line", || pool.status().waiting == 2).await;
    // Another connection of the same owner makes no difference.
    let refused = run(pool.clone(), "a", 9, gate.named("a"))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, FaultKind::Busy);
    assert!(refused.message.contains("[limits] queue"), "{refused:?}");
    assert!(
        refused.message.contains("half of the limit of 4"),
        "{refused:?}"
    );
    let details = refused.details.unwrap();
    let details: serde_json::Value = serde_json::from_str(&details).unwrap();
    assert!(details["retry_after_ms"].as_u64().unwrap() >= 100);
    for owner in ["b", "c"] {
        runs.push(tokio::spawn(run_owned(&pool, owner, 1, gate.named(owner))));
    }
    until("the line", || pool.status().waiting == 4).await;
    let refused = run(pool.clone(), "d", 1, gate.named("d"))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, FaultKind::Busy);
    assert!(
        refused.message.starts_with("4 runs are already waiting"),
        "{refused:?}"
    );
    // Cancelled runs make room.
    for given_up in runs.drain(3..) {
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
    }
    runs.push(tokio::spawn(run_owned(&pool, "d", 1, gate.named("d"))));
    gate.open.add_permits(10);
    for run in runs {
        assert_eq!(run.await.unwrap().unwrap(), "1");
    }
}

/// The name and the `nice` value of each thread of a process.
fn niceness(pid: u32) -> Vec<(String, String)> {
    const FIELD_AFTER_NAME: usize = 16;
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let stats = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats
        .filter_map(|stat| {
            let (name, fields) = stat.rsplit_once(") ")?;
            let nice = fields.split(' ').nth(FIELD_AFTER_NAME)?;
            Some((name.split_once('(')?.1.to_owned(), nice.to_owned()))
        })
        .collect()
}

#[tokio::test]
async fn run_that_computes_long_gives_way_to_others() {
    let (_, own) = niceness(std::process::id()).remove(0);
    if own.parse::<i32>().unwrap() >= LOW_PRIORITY {
        left_out("lower priorities", "this test has the lowest itself");
        return;
    }
    let low = LOW_PRIORITY.to_string();
    let pool = start(|_| {});
    pool.wait_until_ready().await;
    let pid = pool.status().pids[0];
    // The engine's own threads, which collect garbage, have the lower priority from the beginning.
    for (thread, nice) in niceness(pid) {
        let expected = if thread.starts_with("V8 ") {
            &low
        } else {
            &own
        };
        assert_eq!(&nice, expected, "{thread}");
    }
    let source = format!("for (let n = 0; n < 1e9; n++); {WAITS}");
    let request = pool::request(&source, ProgramLimits::default());
    let gate = Gate::new();
    let never = CancellationToken::new();
    let running = pool.run(request, gate.named("long"), &never);
    let lowered = async {
        let is_lowered = || niceness(pid).iter().all(|(_, nice)| *nice == low);
        until("a lower priority", is_lowered).await;
        gate.open.add_permits(1);
    };
    let (result, ()) = tokio::join!(running, lowered);
    assert_eq!(result.unwrap(), "1");
    // The priority cannot be raised again, so another worker serves the next run.
    until("the end of the worker", || niceness(pid).is_empty()).await;
    assert_eq!(run(pool, "a", 1, Arc::new(Nothing)).await.unwrap(), "null");
}

#[tokio::test]
async fn one_owner_never_has_all_workers() {
    let pool = start(|settings| {
        settings.bounds.ceiling = 4;
        settings.bounds.queue = 100;
    });
    let gate = Gate::new();
    let greedy: Vec<_> = (0..10)
        .map(|_| tokio::spawn(run_owned(&pool, "greedy", 1, gate.named("greedy"))))
        .collect();
    until("three to begin", || gate.order().len() == 3).await;
    assert_eq!(pool.status().waiting, 7);
    // The run of the other owner begins before one of these ends.
    let modest = tokio::spawn(run_owned(&pool, "modest", 2, gate.named("modest")));
    until("the fourth to begin", || gate.order().len() == 4).await;
    assert_eq!(gate.order()[3], "modest");
    gate.open.add_permits(11);
    modest.await.unwrap().unwrap();
    for run in greedy {
        run.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn pool_grows_with_load_and_shrinks_when_idle() {
    let pool = start(|settings| {
        settings.bounds.ceiling = 6;
        settings.idle = Duration::from_millis(300);
    });
    let gate = Gate::new();
    let runs: Vec<_> = (0..4)
        .map(|client| tokio::spawn(run_owned(&pool, "a", client, gate.named("a"))))
        .collect();
    until("all to begin", || gate.order().len() == 4).await;
    assert_eq!(pool.status().busy, 4);
    gate.open.add_permits(4);
    for run in runs {
        run.await.unwrap().unwrap();
    }
    // Workers become ready with their next isolates, and stay until the idle timeout.
    until("one fresh worker alone", || {
        let status = pool.status();
        (status.ready, status.starting) == (1, 0)
    })
    .await;
    assert_eq!(
        pool::run(&pool, pool::request("return 1", ProgramLimits::default()))
            .await
            .unwrap(),
        "1"
    );
}

#[tokio::test]
async fn killed_worker_loses_at_most_its_own_run() {
    const ROUNDS: usize = 100;
    let pool = start(|settings| {
        settings.bounds.ceiling = 3;
        settings.bounds.queue = 100;
    });
    let mut lost = 0;
    for round in 0..ROUNDS {
        let source = format!(
            "let n = 0; while (n < {}) n++; return {round}",
            round * 1_000
        );
        let runs =
            (0..3).map(|_| pool::run(&pool, pool::request(&source, ProgramLimits::default())));
        let killer = async {
            // Workers that are idle at this moment, or have just got a program.
            for pid in pool.status().pids {
                let pid = Pid::from_raw(i32::try_from(pid).unwrap());
                _ = kill(pid, Signal::SIGKILL);
                tokio::task::yield_now().await;
            }
        };
        let (ended, ()) = tokio::join!(join_all(runs), killer);
        for outcome in ended {
            match outcome {
                Ok(result) => assert_eq!(result, round.to_string()),
                Err(fault) => {
                    assert_eq!(fault.kind, FaultKind::Internal, "{fault:?}");
                    lost += 1;
                }
            }
        }
    }
    assert!(lost < ROUNDS, "{lost} of {} runs were lost", ROUNDS * 3);
    assert_eq!(
        pool::run(&pool, pool::request("return 1", ProgramLimits::default()))
            .await
            .unwrap(),
        "1"
    );
}

#[tokio::test]
async fn changed_heap_limit_applies_to_the_next_run() {
    const FILLS: &str = "const kept = []; for (let i = 0; i < 200; i++) kept.push(new Array(65536).fill(i)); return kept.length";
    let pool = start(|_| {});
    let run = async || pool::run(&pool, pool::request(FILLS, ProgramLimits::default())).await;
    let fault = run().await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Memory, "{fault:?}");
    assert!(fault.message.contains("64 MiB"), "{fault:?}");
    assert!(fault.hint.unwrap().contains("[limits] heap"));
    pool.set_bounds(PoolLimits {
        ceiling: 2,
        queue: 10,
        memory: MemoryLimits {
            heap: 512,
            ..MemoryLimits::default()
        },
    });
    assert_eq!(run().await.unwrap(), "200");
}

#[tokio::test]
async fn closed_pool_refuses_queued_runs_and_finishes_running_ones() {
    let pool = start(|settings| settings.bounds.ceiling = 1);
    let gate = Gate::new();
    let first = tokio::spawn(run_owned(&pool, "a", 1, gate.named("a")));
    until("the first to begin", || gate.order().len() == 1).await;
    let second = tokio::spawn(run_owned(&pool, "b", 1, Arc::new(Nothing)));
    until("the line", || pool.status().waiting == 1).await;
    pool.close();
    assert_eq!(
        second.await.unwrap().unwrap_err().kind,
        FaultKind::Unavailable
    );
    gate.open.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap(), "1");
    assert_eq!(pool.status().ready, 0);
}
