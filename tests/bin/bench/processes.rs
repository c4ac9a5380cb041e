//! The system's figures about processes: their memory, and their activity while idle.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use anyhow::Context;
use mux_tests::process;

/// In bytes. Private memory is freed with the process. `pss` also includes its part of shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) rss: u64,
    pub(crate) pss: u64,
    pub(crate) private: u64,
}

impl Memory {
    pub(crate) fn of(pid: i32) -> anyhow::Result<Self> {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
            .with_context(|| format!("process {pid} has gone"))?;
        let field = |name: &str| {
            let line = rollup.lines().find(|line| line.starts_with(name));
            let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            kibibytes.unwrap_or(0_u64) * 1024
        };
        Ok(Self {
            rss: field("Rss:"),
            pss: field("Pss:"),
            private: field("Private_Clean:") + field("Private_Dirty:"),
        })
    }
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The program's name, as the process gives it.
pub(crate) fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

pub(crate) fn threads(pid: i32) -> usize {
    entries(&format!("/proc/{pid}/task"))
}

pub(crate) fn descriptors(pid: i32) -> usize {
    entries(&format!("/proc/{pid}/fd"))
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The work of threads since their start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkDone {
    /// How often a thread went to sleep voluntarily, which is how often it was woken.
    pub(crate) sleeps: u64,
    pub(crate) nanos: u64,
}

/// A sample of a process and all its descendants. The work of a thread that has ended by the next
/// sample is not counted.
pub(crate) struct ProcessSample {
    at: Instant,
    threads: BTreeMap<(i32, i32), WorkDone>,
}

/// The work of a process between two samples.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) wakes_per_second: f64,
    /// Of one processor.
    pub(crate) cpu_percent: f64,
}

impl ProcessSample {
    pub(crate) fn at(pid: i32) -> Self {
        let mut threads = BTreeMap::new();
        for pid in std::iter::once(pid).chain(process::descendants(pid)) {
            let tasks = fs::read_dir(format!("/proc/{pid}/task"));
            for task in tasks.into_iter().flatten().flatten() {
                let done = done(&task.path());
                let thread = task.file_name().to_string_lossy().parse();
                if let (Some(done), Ok(thread)) = (done, thread) {
                    threads.insert((pid, thread), done);
                }
            }
        }
        Self {
            at: Instant::now(),
            threads,
        }
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        let mut pids: Vec<i32> = self.threads.keys().map(|(pid, _)| *pid).collect();
        pids.dedup();
        pids
    }

    /// The work of this process's threads since that sample.
    pub(crate) fn done_since(&self, earlier: &Self, pid: i32) -> WorkDone {
        let mut all = WorkDone::default();
        for (thread, done) in self.threads.range((pid, 0)..=(pid, i32::MAX)) {
            let before = earlier.threads.get(thread).copied().unwrap_or_default();
            all.sleeps += done.sleeps - before.sleeps;
            all.nanos += done.nanos - before.nanos;
        }
        all
    }

    /// The work of this process since that sample.
    pub(crate) fn since(&self, earlier: &Self, pid: i32) -> Work {
        let all = self.done_since(earlier, pid);
        let seconds = (self.at - earlier.at).as_secs_f64();
        Work {
            wakes_per_second: all.sleeps as f64 / seconds,
            cpu_percent: Duration::from_nanos(all.nanos).as_secs_f64() / seconds * 100.0,
        }
    }
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wakes_per_second: self.wakes_per_second + other.wakes_per_second,
            cpu_percent: self.cpu_percent + other.cpu_percent,
        }
    }
}

fn done(task: &std::path::Path) -> Option<WorkDone> {
    let status = fs::read_to_string(task.join("status")).ok()?;
    let sleeps = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    let schedule = fs::read_to_string(task.join("schedstat")).ok()?;
    Some(WorkDone {
        sleeps: sleeps.trim().parse().ok()?,
        nanos: schedule.split_whitespace().next()?.parse().ok()?,
    })
}
