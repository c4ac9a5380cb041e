//! Processes that are killed while they write.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use crate::values::{HANG, SPACES, close, entries, has, key, open, value, works};

/// The environment variable with the cache folder of the other process.
const FOLDER: &str = "MUX_TEST_CACHE";
/// The number of processes in each of the two tests.
const LIVES: u64 = 250;
/// The number of keys: few enough that processes overwrite values of earlier ones.
const KEYS: u64 = 800;

/// As the other process: opens the cache, checks all values, writes until it is killed. As a test: a process that ends
/// cleanly and leaves its values to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is its own other process"
    )]
    let folder = env::var_os(FOLDER).map(PathBuf::from);
    if let Some(folder) = folder {
        return live(&folder).await;
    }
    let home = tempfile::tempdir().unwrap();
    for found in [0, 100] {
        let (cache, _) = open(home.path()).await;
        assert_eq!(cache.status().problem, None);
        has(&cache, found).await;
        for number in 0..100 {
            let space = SPACES[0];
            let key = key(number);
            cache.put(space, key, value(space, &key));
        }
        cache.flush().await;
        close(cache, home.path());
    }
}

async fn live(folder: &Path) {
    let mut out = io::stdout();
    let (cache, took) = open(folder).await;
    let status = cache.status();
    let found = entries(&cache).await;
    let problem = status.problem.unwrap_or_default();
    let anew = status.began_anew.unwrap_or_default();
    writeln!(out, "opened|{}|{found}|{problem}|{anew}", took.as_micros()).unwrap();
    let seed = u64::from(std::process::id());
    for number in 0.. {
        let chance = blake3::hash(&(seed << 32 | number).to_le_bytes());
        let chance = u64::from_le_bytes(chance.as_bytes()[..8].try_into().unwrap());
        let key = key(chance % KEYS);
        let space = SPACES[(chance >> 32) as usize % SPACES.len()];
        match (chance >> 40) % 200 {
            0 => cache.clear(space).await,
            1..5 => cache.flush().await,
            5..20 => cache.remove(space, key),
            20..60 => {
                let found = cache.get(space, key).await;
                assert!(found.is_none_or(|found| found == value(space, &key)));
            }
            _ => cache.put(space, key, value(space, &key)),
        }
    }
}

#[tokio::test]
async fn killed_processes_leave_no_wrong_values_1() {
    lives(0).await;
}

#[tokio::test]
async fn killed_processes_leave_no_wrong_values_2() {
    lives(LIVES).await;
}

async fn lives(first: u64) {
    let home = tempfile::tempdir().unwrap();
    let mut slowest = Duration::ZERO;
    let mut found = 0;
    let mut anew = 0;
    for number in first..first + LIVES {
        let mut life = Life::begin(home.path());
        let chance = blake3::hash(&number.to_le_bytes());
        let [kind, length, ..] = *chance.as_bytes();
        if kind % 5 == 0 {
            // While it starts.
            life.go_on_for(Duration::from_micros(u64::from(length) * 100));
        } else {
            let opened = life.opened();
            slowest = slowest.max(opened.took);
            found = found.max(opened.found);
            anew += usize::from(!opened.anew.is_empty());
            assert_eq!(opened.problem, "", "life {number}");
            life.go_on_for(Duration::from_micros(u64::from(length) * 100));
        }
        life.cut(number);
    }
    assert!(slowest < HANG, "{slowest:?}");
    // The processes shared one cache, rather than each starting with an empty one.
    assert!(found > 100, "at most {found} values, {anew} times anew");
    let (cache, _) = open(home.path()).await;
    assert_eq!(cache.status().problem, None);
    entries(&cache).await;
    works(&cache).await;
}

struct Life {
    child: Child,
    lines: Receiver<String>,
}

struct Opened {
    took: Duration,
    found: usize,
    problem: String,
    anew: String,
}

impl Life {
    fn begin(folder: &Path) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["lives::a_life", "--exact", "--test-threads=1"]);
        command.env(FOLDER, folder);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn opened(&mut self) -> Opened {
        loop {
            let line = self.lines.recv_timeout(HANG).unwrap();
            let Some(output) = line.split_once("opened|").map(|(_, output)| output) else {
                continue;
            };
            let mut output = output.splitn(4, '|');
            let mut next = || output.next().unwrap().to_owned();
            return Opened {
                took: Duration::from_micros(next().parse().unwrap()),
                found: next().parse().unwrap(),
                problem: next(),
                anew: next(),
            };
        }
    }

    /// Lets it run for this time. The process exits by itself only on a failure.
    fn go_on_for(&mut self, time: Duration) {
        let left = Instant::now() + time;
        loop {
            let time = left.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(time) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended with {}", self.child.wait().unwrap())
                }
            }
        }
    }

    fn cut(mut self, number: u64) {
        use std::os::unix::process::ExitStatusExt;
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "life {number}: {status}");
    }
}
