//! `[limits]`: the limits of programs, each with its range.
//!
//! Invariant: an out-of-range value is reported with its range, and the default is used.

use std::{collections::BTreeMap, fmt::Debug, ops::RangeInclusive, str::FromStr, time::Duration};

use bytesize::ByteSize;
use mux_sandbox::{MemoryLimits, PoolLimits, ProgramLimits};

use super::{
    parse_setting_duration,
    setting_units::{duration_text, size_text},
};
use mux_config::{AgentEntry, ConfigProblem, LimitsEntry, SizeEntry};

const MIB: u64 = 1 << 20;
const DEFAULT_CALLS_PER_SERVER: usize = 8;
const DEFAULT_CONCURRENT_STARTS: usize = 4;
const DEFAULT_RUN_QUEUE: usize = 1_000;
const HOUR: Duration = Duration::from_hours(1);

/// Limits of stored values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StoredValueLimits {
    /// The maximum size of all values, in bytes.
    pub quota: u64,
    pub keep_for: Duration,
    /// Values longer than this, in bytes of JSON, are stored instead of being sent inline.
    pub inline: usize,
}

impl Default for StoredValueLimits {
    fn default() -> Self {
        Self {
            quota: 512 << 20,
            keep_for: Duration::from_hours(24),
            inline: 256 << 10,
        }
    }
}

/// How long clients may take to answer servers' questions. The timeouts of their calls are paused meanwhile.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AskLimits {
    /// The limit of one question.
    pub one: Duration,
    /// The limit of all questions of one run, or of one call outside of runs, over all servers.
    pub total: Duration,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self {
            one: Duration::from_mins(5),
            total: Duration::from_mins(15),
        }
    }
}

/// The resolved section `[limits]`.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// Limits of one run.
    pub run: ProgramLimits,
    /// Limits of the worker pool.
    pub pool: PoolLimits,
    /// Limits of stored values.
    pub terms: StoredValueLimits,
    /// The maximum number of concurrent calls of one server. Further calls are queued.
    pub calls_per_server: usize,
    /// The maximum number of servers that start at the same time. Further starts are queued.
    pub starts: usize,
    pub ask: AskLimits,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            run: ProgramLimits::default(),
            pool: PoolLimits {
                ceiling: workers(),
                queue: DEFAULT_RUN_QUEUE,
                memory: MemoryLimits::default(),
            },
            terms: StoredValueLimits::default(),
            calls_per_server: DEFAULT_CALLS_PER_SERVER,
            starts: DEFAULT_CONCURRENT_STARTS,
            ask: AskLimits::default(),
        }
    }
}

impl LimitSettings {
    pub(super) fn resolve(entry: &LimitsEntry, problems: &mut Vec<ConfigProblem>) -> Self {
        let mut this = Self::default();
        let Self {
            run,
            pool,
            terms,
            calls_per_server,
            starts,
            ask,
        } = &mut this;
        let mut read = SectionReader {
            what: "limits".into(),
            keys: vec!["limits"],
            otherwise: "the default is used",
            problems,
        };
        read.run(entry, run);
        let least = ProgramLimits::WALL_TIME_RANGE.0;
        read.time(&entry.ask, "ask", least..=HOUR, &mut ask.one);
        read.time(
            &entry.ask_total,
            "ask_total",
            least..=HOUR * 24,
            &mut ask.total,
        );
        read.time(
            &entry.kept_for,
            "kept_for",
            HOUR / 60..=HOUR * 24 * 365,
            &mut terms.keep_for,
        );

        read.number(
            entry.calls_per_server,
            "calls_per_server",
            1..=256,
            calls_per_server,
        );
        read.number(entry.starts, "starts", 1..=64, starts);
        read.number(entry.workers, "workers", 1..=256, &mut pool.ceiling);
        read.number(entry.queue, "queue", 1..=100_000, &mut pool.queue);

        read.size(&entry.inline, "inline", 1024..=8 * MIB, &mut terms.inline);
        read.size(&entry.kept, "kept", MIB..=1 << 50, &mut terms.quota);
        read.mebibytes(&entry.heap, "heap", 16..=1024, &mut pool.memory.heap);
        read.mebibytes(
            &entry.buffers,
            "buffers",
            1..=1024,
            &mut pool.memory.buffers,
        );
        this
    }
}

/// The default maximum of worker processes: several per core, because most of them wait for tools.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    (cores * 8).clamp(8, 64)
}

/// The run limits of each agent.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    everybody: ProgramLimits,
    agents: BTreeMap<String, ProgramLimits>,
}

impl RunLimits {
    pub fn of(&self, agent: Option<&str>) -> &ProgramLimits {
        let own = agent.and_then(|agent| self.agents.get(agent));
        own.unwrap_or(&self.everybody)
    }

    /// Resolves the limits of each agent. A limit in `[agents.NAME]` replaces the general one, higher or lower.
    pub(super) fn resolve(
        everybody: &ProgramLimits,
        agents: &BTreeMap<String, AgentEntry>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Self {
        let with_own = agents
            .iter()
            .filter(|(_, agent)| agent.limits != LimitsEntry::default());
        let own = with_own.map(|(name, agent)| {
            let mut limits = everybody.clone();
            let mut read = SectionReader {
                what: format!("[agents.{name}] limits"),
                keys: vec!["agents", name, "limits"],
                otherwise: "the value in [limits] is used",
                problems,
            };
            read.run(&agent.limits, &mut limits);
            (name.clone(), limits)
        });
        Self {
            agents: own.collect(),
            everybody: everybody.clone(),
        }
    }
}

impl From<ProgramLimits> for RunLimits {
    fn from(everybody: ProgramLimits) -> Self {
        Self {
            everybody,
            agents: BTreeMap::new(),
        }
    }
}

/// Reads and checks the values of one section.
pub(super) struct SectionReader<'a> {
    /// The section, as the prefix of problems.
    pub(super) what: String,
    /// The keys that lead to it.
    pub(super) keys: Vec<&'a str>,
    /// The consequence of an unusable value.
    pub(super) otherwise: &'static str,
    pub(super) problems: &'a mut Vec<ConfigProblem>,
}

impl SectionReader<'_> {
    /// Reads the limits of one run.
    fn run(&mut self, entry: &LimitsEntry, run: &mut ProgramLimits) {
        let (least, most) = ProgramLimits::WALL_TIME_RANGE;
        self.time(&entry.wall, "wall", least..=most, &mut run.wall);
        self.time(&entry.cpu, "cpu", least..=HOUR, &mut run.cpu);
        self.number(entry.calls, "calls", 1..=100_000, &mut run.calls);
        let at_once = &mut run.calls_at_once;
        self.number(entry.calls_at_once, "calls_at_once", 1..=256, at_once);
        self.number(entry.timers, "timers", 1..=1_000_000, &mut run.timers);
        let argument = &mut run.argument;
        self.size(&entry.argument, "argument", 1024..=15 * MIB, argument);
        self.size(&entry.console, "console", 1024..=8 * MIB, &mut run.console);
        self.size(&entry.source, "source", 1024..=8 * MIB, &mut run.source);
        let emitted = &mut run.emitted;
        self.size(&entry.emitted, "emitted", 1024..=256 * MIB, emitted);
    }

    pub(super) fn time(
        &mut self,
        text: &Option<String>,
        name: &str,
        range: RangeInclusive<Duration>,
        value: &mut Duration,
    ) {
        let Some(text) = text else { return };
        match parse_setting_duration(text, &format!("{}.{name}", self.what)) {
            Ok(time) if range.contains(&time) => *value = time,
            Ok(_) => {
                let shown = |time: &Duration| duration_text(*time);
                self.out_of_range(name, text, shown(range.start()), shown(range.end()));
            }
            Err(problem) => self.report(name, problem),
        }
    }

    pub(super) fn number<T: Copy + PartialOrd + Debug>(
        &mut self,
        given: Option<T>,
        name: &str,
        range: RangeInclusive<T>,
        value: &mut T,
    ) {
        match given {
            None => {}
            Some(number) if range.contains(&number) => *value = number,
            Some(number) => self.out_of_range(name, number, range.start(), range.end()),
        }
    }

    /// Reads a size in bytes.
    pub(super) fn size<T: TryFrom<u64>>(
        &mut self,
        given: &Option<SizeEntry>,
        name: &str,
        range: RangeInclusive<u64>,
        value: &mut T,
    ) {
        let Some(bytes) = self.bytes(given, name) else {
            return;
        };
        match T::try_from(bytes) {
            Ok(bytes_fit) if range.contains(&bytes) => *value = bytes_fit,
            _ => {
                let least = size_text(*range.start());
                let most = size_text(*range.end());
                self.out_of_range(name, size_text(bytes), least, most);
            }
        }
    }

    fn mebibytes(
        &mut self,
        given: &Option<SizeEntry>,
        name: &str,
        range: RangeInclusive<u32>,
        value: &mut u32,
    ) {
        let mut bytes = u64::from(*value) * MIB;
        let least = u64::from(*range.start()) * MIB;
        let most = u64::from(*range.end()) * MIB;
        self.size(given, name, least..=most, &mut bytes);
        // The range guarantees that it fits.
        *value = u32::try_from(bytes / MIB).unwrap_or(*range.end());
    }

    fn bytes(&mut self, given: &Option<SizeEntry>, name: &str) -> Option<u64> {
        match given.as_ref()? {
            SizeEntry::Bytes(bytes) => Some(*bytes),
            SizeEntry::Text(text) => {
                if let Ok(size) = ByteSize::from_str(text) {
                    Some(size.as_u64())
                } else {
                    let message = format!(
                        "{}.{name} = {text:?} is not a size such as \"64MiB\" or 65536; {}",
                        self.what, self.otherwise
                    );
                    self.report(name, message);
                    None
                }
            }
        }
    }

    fn out_of_range(&mut self, name: &str, given: impl Debug, least: impl Debug, most: impl Debug) {
        let text = |value: &dyn Debug| format!("{value:?}").replace('"', "");
        let message = format!(
            "{}.{name} = {} is not between {} and {}; {}",
            self.what,
            text(&given),
            text(&least),
            text(&most),
            self.otherwise
        );
        self.report(name, message);
    }

    fn report(&mut self, name: &str, message: String) {
        let keys: Vec<&str> = self.keys.iter().copied().chain([name]).collect();
        self.problems.push(ConfigProblem::at(&keys, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    fn resolved(limits: &str) -> (LimitSettings, Vec<String>) {
        let config = Config::parse(&format!("[limits]\n{limits}"), "config.toml").unwrap();
        let mut problems = config.problems;
        let limits = LimitSettings::resolve(&config.limits, &mut problems);
        let messages = problems.into_iter().map(|problem| problem.message);
        (limits, messages.collect())
    }

    #[test]
    fn sizes_are_bytes_or_strings_with_a_unit() {
        let (allowed, problems) = resolved(
            "argument = 65536\nconsole = \"1 MiB\"\nheap = \"128MiB\"\nbuffers = \"256 MiB\"\n\
             kept = \"2GiB\"\ncpu = \"30s\"\nkept_for = \"7days\"",
        );
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            (allowed.run.argument, allowed.run.console),
            (65536, 1 << 20)
        );
        let memory = MemoryLimits {
            heap: 128,
            buffers: 256,
        };
        assert_eq!(allowed.pool.memory, memory);
        assert_eq!(allowed.terms.quota, 2 << 30);
        assert_eq!(allowed.run.cpu, Duration::from_secs(30));
        assert_eq!(allowed.terms.keep_for, Duration::from_hours(7 * 24));
    }

    #[test]
    fn out_of_range_value_is_reported_and_default_is_used() {
        for (limits, part) in [
            (
                "heap = \"8MiB\"",
                "limits.heap = 8MiB is not between 16MiB and 1GiB",
            ),
            ("heap = \"5GiB\"", "between 16MiB and 1GiB"),
            ("argument = \"16MiB\"", "between 1KiB and 15MiB"),
            ("calls = 0", "limits.calls = 0 is not between 1 and 100000"),
            ("cpu = \"0s\"", "limits.cpu = 0s is not between 1s and 1h"),
            ("wall = \"1h\"", "limits.wall = 1h is not between 1s and 5m"),
            ("console = \"much\"", "is not a size such as \"64MiB\""),
            ("cpu = \"long\"", "is not a duration"),
        ] {
            let (allowed, problems) = resolved(limits);
            assert!(
                problems.len() == 1 && problems[0].contains(part),
                "{limits}: {problems:?}"
            );
            assert_eq!(allowed.pool.memory, MemoryLimits::default());
            assert_eq!(allowed.run.calls, ProgramLimits::default().calls);
        }
    }

    #[test]
    fn agent_overrides_single_limits() {
        let config = Config::parse(
            "[limits]\nwall = \"20s\"\ncalls = 50\n[agents.small]\nlimits = { calls = 5, console = \"1KiB\", wall = \"1h\" }\n\
             [agents.big]\nlimits = { wall = \"5m\" }\n[agents.plain]\ncheck = \"off\"\n",
            "config.toml",
        )
        .unwrap();
        let mut problems = config.problems;
        let everybody = LimitSettings::resolve(&config.limits, &mut problems).run;
        let runs = RunLimits::resolve(&everybody, &config.agents, &mut problems);
        let of = |agent| {
            let limits: &ProgramLimits = runs.of(agent);
            (limits.wall.as_secs(), limits.calls, limits.console)
        };
        assert_eq!(of(Some("small")), (20, 5, 1024));
        assert_eq!(of(Some("big")), (300, 50, 256 << 10));
        assert_eq!(of(Some("plain")), of(None));
        assert_eq!(problems.len(), 1);
        assert_eq!(
            problems[0].message,
            "[agents.small] limits.wall = 1h is not between 1s and 5m; the value in [limits] is used"
        );
    }
}
