//! The daemon's resources over time, and whether they grow.
//!
//! Invariant: only samples taken after the warm-up, or at rest, are judged.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    time::Duration,
};

use mux_tests::process;

use super::{answers::Answers, curve};

/// Resident memory, from the first half after the warm-up to the second: what an allocator keeps varies.
const MEMORY: f64 = 16.0;
/// From this length on, a slope is more than noise, and has a separate bound.
const LONG: Duration = Duration::from_hours(2);
/// MiB an hour.
const SLOPE: f64 = 1.0;
/// From this length on memory is judged at all.
const SHORT: Duration = Duration::from_mins(2);
/// At rest, in addition to the number after the warm-up with active clients.
const DESCRIPTORS: usize = 16;
const THREADS: usize = 8;

/// The daemon's resources at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResourceSample {
    pub(crate) at: Duration,
    /// In MiB.
    pub(crate) resident: f64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    children: usize,
    zombies: usize,
}

pub(crate) struct Vitals {
    /// The pid of the serving daemon, which changes with an upgrade.
    daemon: i32,
    /// When another one took over.
    upgrades: Vec<Duration>,
    warm_up: Duration,
    looks: Vec<ResourceSample>,
    /// Zombies of the last look: who is still one at the next is not reaped.
    dead: HashSet<i32>,
    /// Pids that stayed zombies from one look to the next, with their names.
    stayed: BTreeMap<i32, String>,
}

pub(crate) fn head() -> String {
    "     time     RSS MiB   fds  threads  children  zombies    right   wrong  unknown  unavailable  faults".into()
}

impl Vitals {
    pub(crate) fn new(daemon: i32, warm_up: Duration) -> Self {
        Self {
            daemon,
            upgrades: Vec::new(),
            warm_up,
            looks: Vec::new(),
            dead: HashSet::new(),
            stayed: BTreeMap::new(),
        }
    }

    /// Another daemon serves from now on.
    pub(crate) fn follow(&mut self, daemon: i32, at: Duration) {
        self.daemon = daemon;
        self.upgrades.push(at);
    }

    /// The curve of the whole time.
    pub(crate) fn svg(&self, title: &str) -> String {
        curve::svg(&self.looks, &self.upgrades, title)
    }

    pub(crate) fn look(&mut self, at: Duration) {
        let count = |name: &str| {
            fs::read_dir(format!("/proc/{}/{name}", self.daemon)).map_or(0, Iterator::count)
        };
        let zombies = zombies_below(self.daemon);
        for (pid, name) in &zombies {
            if self.dead.contains(pid) {
                self.stayed.insert(*pid, name.clone());
            }
        }
        let resident = if process::is_alive(self.daemon) {
            process::resident_bytes(self.daemon) as f64 / f64::from(1 << 20)
        } else {
            0.0
        };
        self.looks.push(ResourceSample {
            at,
            resident,
            descriptors: count("fd"),
            threads: count("task"),
            children: process::descendants(self.daemon).len(),
            zombies: zombies.len(),
        });
        self.dead = zombies.into_iter().map(|(pid, _)| pid).collect();
    }

    /// The last sample, and the number of answers so far.
    pub(crate) fn line(&self, answers: &Answers, faults: u64) -> String {
        let look = self.looks.last().copied().unwrap_or_default();
        format!(
            "{:>8.0} s  {:>9.1}  {:>4}  {:>7}  {:>8}  {:>7}  {:>7}  {:>6}  {:>7}  {:>11}  {faults:>6}",
            look.at.as_secs_f64(),
            look.resident,
            look.descriptors,
            look.threads,
            look.children,
            look.zombies,
            answers.of("right"),
            answers.wrongs(),
            answers.of("unknown_outcome"),
            answers.of("unavailable"),
        )
    }

    /// The errors, in words. No client uses the daemon any more.
    pub(crate) fn judge(&mut self, daemon: i32, at: Duration, answers: &Answers) -> Vec<String> {
        let warm: Vec<ResourceSample> = self.warm().copied().collect();
        // Twice, to give a zombie time to be reaped.
        self.look(at);
        let mut problems = answers.shown();
        if answers.wrongs() > 0 {
            problems.push(format!("{} wrong answers", answers.wrongs()));
        }
        if answers.of("right") == 0 {
            problems.push("no right answer at all".into());
        }
        if daemon != self.daemon {
            problems.push("it is another daemon".into());
        }
        for (pid, name) in &self.stayed {
            problems.push(format!("{name} ({pid}) stayed a zombie"));
        }
        let rest = self.looks.last().copied().unwrap_or_default();
        let most =
            |of: fn(&ResourceSample) -> usize| median(warm.iter().map(|look| of(look) as f64));
        let bounds = [
            (
                "descriptors",
                rest.descriptors,
                most(|look| look.descriptors),
                DESCRIPTORS,
            ),
            ("threads", rest.threads, most(|look| look.threads), THREADS),
        ];
        for (what, now, before, more) in bounds {
            if now as f64 > before + more as f64 {
                problems.push(format!("{what}: {now} at rest, {before:.0} before"));
            }
        }
        let (grown, slope) = Self::growth(&warm);
        if at >= SHORT && grown > MEMORY {
            problems.push(format!(
                "memory has grown by {grown:.1} MiB, more than {MEMORY}"
            ));
        }
        if at >= LONG && slope > SLOPE {
            problems.push(format!(
                "memory grows by {slope:.2} MiB an hour, more than {SLOPE}"
            ));
        }
        problems
    }

    pub(crate) fn summary(&self) -> String {
        let warm: Vec<ResourceSample> = self.warm().copied().collect();
        let (grown, slope) = Self::growth(&warm);
        let descriptors = slope_of(&warm, |look| look.descriptors as f64);
        format!(
            "after the warm-up: RSS {slope:+.2} MiB/h ({grown:+.1} MiB from half to half), descriptors {descriptors:+.2}/h"
        )
    }

    fn warm(&self) -> impl Iterator<Item = &ResourceSample> {
        self.looks.iter().filter(|look| look.at >= self.warm_up)
    }

    /// In MiB, and MiB an hour.
    fn growth(warm: &[ResourceSample]) -> (f64, f64) {
        let (first, second) = warm.split_at(warm.len() / 2);
        let middle = |half: &[ResourceSample]| median(half.iter().map(|look| look.resident));
        let slope = slope_of(warm, |look| look.resident);
        (middle(second) - middle(first), slope)
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// By least squares, an hour.
fn slope_of(looks: &[ResourceSample], of: impl Fn(&ResourceSample) -> f64) -> f64 {
    let n = looks.len() as f64;
    let hours = |look: &ResourceSample| look.at.as_secs_f64() / 3600.0;
    let x = looks.iter().map(hours).sum::<f64>() / n;
    let y = looks.iter().map(&of).sum::<f64>() / n;
    let over = looks
        .iter()
        .map(|look| (hours(look) - x) * (of(look) - y))
        .sum::<f64>();
    let under = looks
        .iter()
        .map(|look| (hours(look) - x).powi(2))
        .sum::<f64>();
    if under > 0.0 { over / under } else { 0.0 }
}

/// Zombies whose parent is the daemon or one of its descendants.
fn zombies_below(daemon: i32) -> Vec<(i32, String)> {
    let mut parents: HashSet<i32> = process::descendants(daemon).into_iter().collect();
    parents.insert(daemon);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let (before, after) = stat.rsplit_once(')').unwrap_or_default();
        let mut words = after.split_whitespace();
        let is_zombie = words.next() == Some("Z");
        let parent = words.next().and_then(|word| word.parse().ok());
        if is_zombie && parent.is_some_and(|parent| parents.contains(&parent)) {
            found.push((
                pid,
                before.split('(').next_back().unwrap_or_default().to_owned(),
            ));
        }
    }
    found
}
