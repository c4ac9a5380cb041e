//! The ancestry of processes, read from `/proc`.
//!
//! Invariant: a snapshot is outdated as soon as it is read, because forks race with reading it. Code that ends
//! processes by a snapshot reads new snapshots until one shows no process.

use std::{collections::HashSet, ffi::OsString, fs, os::unix::ffi::OsStrExt};

use nix::unistd::Pid;

/// The environment variable that every child gets and its descendants inherit, including those that left their process
/// group and lost their parent.
pub(super) const MARKER_VARIABLE: &str = "MUX_KEPT";

pub(super) struct ProcessTable(Vec<ProcessEntry>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    /// The process has ended and was not reaped.
    pub(super) zombie: bool,
    pub(super) threads: u32,
    /// Resident memory, in pages.
    pub(super) pages: u64,
}

impl ProcessTable {
    /// Reads a snapshot. Empty if `/proc` is not mounted: then only process groups are known.
    pub(super) fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter(|entry| entry.file_name().as_bytes()[0].is_ascii_digit());
        let stats = numbers.filter_map(|entry| fs::read(entry.path().join("stat")).ok());
        ProcessTable(stats.filter_map(|stat| parse_stat(&stat)).collect())
    }

    /// The children of `parent`, zombies included.
    pub(super) fn children(&self, parent: Pid) -> impl Iterator<Item = ProcessEntry> {
        let all = self.0.iter().copied();
        all.filter(move |process| process.parent == parent)
    }

    /// Every running process except `pid` and its ancestors.
    pub(super) fn unrelated_to(&self, pid: Pid) -> impl Iterator<Item = ProcessEntry> {
        let mut spared = HashSet::from([pid]);
        let mut below = pid;
        while let Some(process) = self.0.iter().find(|process| process.pid == below)
            && spared.insert(process.parent)
        {
            below = process.parent;
        }
        let all = self.0.iter().copied();
        all.filter(move |process| !process.zombie && !spared.contains(&process.pid))
    }

    /// `roots` and everything below them.
    pub(super) fn with_descendants(
        &self,
        roots: impl IntoIterator<Item = ProcessEntry>,
    ) -> Vec<ProcessEntry> {
        let mut found: Vec<ProcessEntry> = roots.into_iter().collect();
        // A snapshot that was read while pids were reused could contain a cycle.
        let mut seen: HashSet<Pid> = found.iter().map(|process| process.pid).collect();
        let mut next = 0;
        while let Some(process) = found.get(next).copied() {
            found.extend(
                self.children(process.pid)
                    .filter(|child| seen.insert(child.pid)),
            );
            next += 1;
        }
        found
    }
}

/// The marker's value for one child: unique, and readable in `ps e`. `home` is common to all keepers of one lock.
pub(super) fn marker(tag: &str, keeper: u32, id: u64, home: &str) -> OsString {
    format!("{tag}/{keeper}/{id}/{home}").into()
}

/// Returns true if this keeper gave `marker` to a child.
pub(super) fn is_of_keeper(marker: &[u8], keeper: u32) -> bool {
    let mut parts = marker.rsplitn(4, |byte| *byte == b'/').skip(2);
    parts.next() == Some(keeper.to_string().as_bytes())
}

/// Returns true if a keeper of this home gave `marker` to a child.
pub(super) fn is_of_home(marker: &[u8], home: &str) -> bool {
    marker.rsplit(|byte| *byte == b'/').next() == Some(home.as_bytes())
}

/// The marker in the initial environment of a process. `None` also if the environment is not readable.
pub(super) fn marker_of(pid: Pid) -> Option<Vec<u8>> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environ.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let value = variable
            .strip_prefix(MARKER_VARIABLE.as_bytes())?
            .strip_prefix(b"=")?;
        Some(value.to_vec())
    })
}

/// Parses `pid (command) state parent group …`, where the command may contain spaces and parentheses.
fn parse_stat(stat: &[u8]) -> Option<ProcessEntry> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let number = |text: &str| text.trim().parse().ok().map(Pid::from_raw);
    let pid = number(str::from_utf8(&stat[..open]).ok()?)?;
    let mut rest = str::from_utf8(stat.get(close + 1..)?)
        .ok()?
        .split_whitespace();
    let state = rest.next()?;
    Some(ProcessEntry {
        pid,
        zombie: matches!(state, "Z" | "X" | "x"),
        parent: number(rest.next()?)?,
        group: number(rest.next()?)?,
        // Fields 20 and 24. The last field read was the 5th.
        threads: rest.nth(14).and_then(|it| it.parse().ok()).unwrap_or(0),
        pages: rest.nth(3).and_then(|it| it.parse().ok()).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, group: i32) -> ProcessEntry {
        ProcessEntry {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(parent),
            group: Pid::from_raw(group),
            zombie: false,
            threads: 0,
            pages: 0,
        }
    }

    #[test]
    fn stat_with_any_command_name_is_parsed() {
        let seen = parse_stat(b"12 (a) R 1 (b \xff) S 3 4 5 0 -1 4194560 ");
        assert_eq!(seen, Some(process(12, 3, 4)));
        let fields = b"12 (a) S 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25";
        let used = parse_stat(fields).unwrap();
        // The value of each field after the second is its number less one.
        assert_eq!((used.threads, used.pages), (19, 23));
        let dead = parse_stat(b"12 (a) Z 3 4 5").unwrap();
        assert!(dead.zombie);
        assert_eq!(parse_stat(b"12 (a"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn descendants_of_every_level_are_listed_once() {
        let table = ProcessTable(vec![
            process(4, 3, 4),
            process(2, 1, 2),
            process(3, 2, 2),
            process(9, 1, 9),
        ]);
        let roots = table
            .children(Pid::from_raw(1))
            .filter(|it| it.group.as_raw() == 2);
        let pids: Vec<i32> = table
            .with_descendants(roots)
            .iter()
            .map(|it| it.pid.as_raw())
            .collect();
        assert_eq!(pids, [2, 3, 4]);

        let circle = ProcessTable(vec![process(2, 3, 2), process(3, 2, 2)]);
        assert_eq!(circle.with_descendants([process(2, 3, 2)]).len(), 2);
    }

    #[test]
    fn own_process_is_a_child_of_its_parent() {
        let me = Pid::this();
        let parent = Pid::parent();
        let table = ProcessTable::read();
        assert!(table.children(parent).any(|process| process.pid == me));
    }

    #[test]
    fn unrelated_processes_exclude_ancestors() {
        let table = ProcessTable(vec![
            process(1, 0, 1),
            process(2, 1, 2),
            process(3, 2, 2),
            process(4, 2, 2),
            process(5, 3, 5),
        ]);
        let pids: Vec<i32> = table
            .unrelated_to(Pid::from_raw(3))
            .map(|it| it.pid.as_raw())
            .collect();
        assert_eq!(pids, [4, 5]);
    }

    #[test]
    fn marker_identifies_its_keeper_for_any_tag() {
        let marker = marker("files/a", 12, 3, "8-1f");
        assert!(is_of_keeper(marker.as_bytes(), 12));
        assert!(!is_of_keeper(marker.as_bytes(), 3));
        assert!(!is_of_keeper(b"12", 12));
        assert!(is_of_home(marker.as_bytes(), "8-1f"));
        assert!(!is_of_home(marker.as_bytes(), "1f"));
    }
}
