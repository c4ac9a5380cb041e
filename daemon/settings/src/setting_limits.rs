//! `[limits]`: the limits of programs, by their owners.

use std::{collections::BTreeMap, time::Duration};

use mux_config::{AgentEntry, LimitsEntry};
use mux_sandbox::{MemoryLimits, PoolLimits, ProgramLimits};

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
        LimitSettings::default().stored_values
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
        LimitSettings::default().ask
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
    pub stored_values: StoredValueLimits,
    /// The maximum number of concurrent calls of one server. Further calls are queued.
    pub calls_per_server: usize,
    /// The maximum number of servers that start at the same time. Further starts are queued.
    pub starts: usize,
    pub ask: AskLimits,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self::of(&LimitsEntry::default())
    }
}

impl LimitSettings {
    pub(super) fn of(entry: &LimitsEntry) -> Self {
        Self {
            run: program_limits(entry),
            pool: PoolLimits {
                ceiling: entry
                    .workers
                    .map_or_else(workers, mux_config::Count::<1, 256>::as_usize),
                queue: entry.queue.as_usize(),
                memory: MemoryLimits {
                    heap: entry.heap.as_u32() >> 20,
                    buffers: entry.buffers.as_u32() >> 20,
                },
            },
            stored_values: StoredValueLimits {
                quota: entry.kept.0.0,
                keep_for: entry.kept_for.0,
                inline: entry.inline.as_usize(),
            },
            calls_per_server: entry.calls_per_server.as_usize(),
            starts: entry.starts.as_usize(),
            ask: AskLimits {
                one: entry.ask.0,
                total: entry.ask_total.0,
            },
        }
    }
}

fn program_limits(entry: &LimitsEntry) -> ProgramLimits {
    ProgramLimits {
        wall: entry.wall.0,
        cpu: entry.cpu.0,
        calls: entry.calls.as_u32(),
        calls_at_once: entry.calls_at_once.as_usize(),
        argument: entry.argument.as_u32(),
        console: entry.console.as_u32(),
        source: entry.source.as_usize(),
        timers: entry.timers.as_u32(),
        emitted: entry.emitted.as_u32(),
        ..ProgramLimits::default()
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

    /// The limits of each agent. A limit in `[agents.NAME]` replaces the general one, higher or lower.
    pub(super) fn of_agents(
        everybody: &ProgramLimits,
        agents: &BTreeMap<String, AgentEntry>,
    ) -> Self {
        let own = agents.iter().filter_map(|(name, agent)| {
            let limits = program_limits(agent.limits.as_ref()?);
            Some((name.clone(), limits))
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

#[cfg(test)]
mod tests {
    use super::*;
    use mux_config::Config;

    fn resolved(limits: &str) -> (LimitSettings, Vec<String>) {
        let config = Config::parse(&format!("[limits]\n{limits}"), "config.toml").unwrap();
        let limits = LimitSettings::of(&config.limits);
        let messages = config.problems.into_iter().map(|problem| problem.message);
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
        assert_eq!(allowed.stored_values.quota, 2 << 30);
        assert_eq!(allowed.run.cpu, Duration::from_secs(30));
        assert_eq!(allowed.stored_values.keep_for, Duration::from_hours(7 * 24));
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
    fn defaults_are_those_of_the_sandbox() {
        let limits = LimitSettings::default();
        let of_sandbox = (ProgramLimits::default(), MemoryLimits::default());
        let found = (limits.run, limits.pool.memory);
        assert_eq!(format!("{found:?}"), format!("{of_sandbox:?}"));
    }

    #[test]
    fn agent_overrides_single_limits() {
        let config = Config::parse(
            "[limits]\nwall = \"20s\"\ncalls = 50\n[agents.small]\nlimits = { calls = 5, console = \"1KiB\", wall = \"1h\" }\n\
             [agents.big]\nlimits = { wall = \"5m\" }\n[agents.plain]\ncheck = \"off\"\n",
            "config.toml",
        )
        .unwrap();
        let everybody = LimitSettings::of(&config.limits).run;
        let runs = RunLimits::of_agents(&everybody, &config.agents);
        let problems = config.problems;
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
