//! The files of one log: `NAME.log`, and the rotated `NAME.log.1`, `NAME.log.2` …, the newest first.
//!
//! Older daemons wrote a date into the names: `muxd.2026-11-22.log`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use mux_proto::endpoint::Dirs;
/// Identifies a file after a rename.
pub(super) use same_file::Handle as FileIdentity;

use crate::log_line::LogSource;

const DAEMON_LOG_NAME: &str = "muxd";

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct LogFileSet {
    pub(super) source: LogSource,
    folder: PathBuf,
    name: String,
}

/// Whose logs are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum LogSelection<'a> {
    All,
    Daemon,
    /// By name.
    Servers(&'a [String]),
}

/// The logs that exist, and the daemon's, which may be created later.
pub(super) fn select_logs(dirs: &Dirs, of: LogSelection<'_>) -> Vec<LogFileSet> {
    let logs = dirs.logs();
    let mut all = Vec::new();
    if matches!(of, LogSelection::All | LogSelection::Daemon) {
        let folder = logs.clone();
        let name = DAEMON_LOG_NAME.to_owned();
        let source = LogSource::Daemon;
        all.push(LogFileSet {
            source,
            folder,
            name,
        });
    }
    let folder = logs.join("servers");
    let names = file_names(&folder);
    let names: BTreeSet<&str> = names
        .iter()
        .filter_map(|name| parse_log_name(name))
        .collect();
    let wanted = names.into_iter().filter(|name| match of {
        LogSelection::All => true,
        LogSelection::Daemon => false,
        LogSelection::Servers(servers) => {
            servers.iter().any(|server| is_log_of_server(name, server))
        }
    });
    all.extend(wanted.map(|name| LogFileSet {
        source: LogSource::Server(name.to_owned()),
        folder: folder.clone(),
        name: name.to_owned(),
    }));
    all
}

/// Returns true if the log `name` belongs to `server`. A project's server has a suffix after `@`.
pub(super) fn is_log_of_server(name: &str, server: &str) -> bool {
    let rest = name.strip_prefix(server);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

impl LogFileSet {
    /// The files of the log, the oldest first.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<(LogFileAge, String)> = file_names(&self.folder)
            .into_iter()
            .filter_map(|file| Some((self.parse_age(&file)?, file)))
            .collect();
        files.sort();
        let files = files.into_iter().map(|(_, file)| self.folder.join(file));
        files.collect()
    }

    /// The files of the log with their identities, the oldest first. `None` while the log is being rotated, because the
    /// names then refer to other files.
    pub(super) fn identified_files(&self) -> Option<Vec<(FileIdentity, PathBuf)>> {
        let identify = || {
            let files = self.files().into_iter();
            let known = files.filter_map(|path| Some((FileIdentity::from_path(&path).ok()?, path)));
            known.collect::<Vec<_>>()
        };
        let files = identify();
        (files == identify()).then_some(files)
    }

    fn parse_age(&self, file: &str) -> Option<LogFileAge> {
        let rest = file.strip_prefix(&self.name)?.strip_prefix('.')?;
        if rest == "log" {
            return Some(LogFileAge::Now);
        }
        if let Some(number) = rest.strip_prefix("log.") {
            let number: u32 = number.parse().ok()?;
            return Some(LogFileAge::Turned(std::cmp::Reverse(number)));
        }
        let date = rest.strip_suffix(".log")?;
        let is_date = date.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        (self.source == LogSource::Daemon && is_date).then(|| LogFileAge::Dated(date.to_owned()))
    }
}

/// The age of a file of a log. The oldest is the smallest.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
enum LogFileAge {
    Dated(String),
    Turned(std::cmp::Reverse<u32>),
    Now,
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// `files` of `files.log` and `files.log.2`.
fn parse_log_name(file: &str) -> Option<&str> {
    let (stem, number) = match file.rsplit_once(".log") {
        Some((stem, "")) => (stem, "0"),
        Some((stem, rest)) => (stem, rest.strip_prefix('.')?),
        None => return None,
    };
    (number.parse::<u32>().is_ok() && !stem.is_empty()).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_files_are_sorted_and_other_files_ignored() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        dirs.prepare().unwrap();
        let servers = dirs.logs().join("servers");
        for file in [
            "muxd.log",
            "muxd.log.1",
            "muxd.log.10",
            "muxd.2026-11-22.log",
            "muxd.2026-11-21.log",
            "muxd.log.gz",
            "muxd.other.log",
            "note.txt",
        ] {
            fs::write(dirs.logs().join(file), "").unwrap();
        }
        for file in ["a.log", "a.log.1", "a@0f.log", "ab.log.2", "a.txt", ".log"] {
            fs::write(servers.join(file), "").unwrap();
        }
        let all = select_logs(&dirs, LogSelection::All);
        let sources: Vec<&LogSource> = all.iter().map(|family| &family.source).collect();
        let server = |name: &str| LogSource::Server(name.to_owned());
        let expected = [LogSource::Daemon, server("a"), server("a@0f"), server("ab")];
        assert_eq!(sources, expected.iter().collect::<Vec<_>>());
        let files = all[0].files();
        let files = files
            .iter()
            .map(|file| file.file_name().unwrap().to_str().unwrap());
        let expected = [
            "muxd.2026-11-21.log",
            "muxd.2026-11-22.log",
            "muxd.log.10",
            "muxd.log.1",
            "muxd.log",
        ];
        assert_eq!(files.collect::<Vec<_>>(), expected);
        assert_eq!(select_logs(&dirs, LogSelection::Daemon).len(), 1);
        assert_eq!(
            select_logs(&dirs, LogSelection::Servers(&["a".into()])).len(),
            2
        );
        assert!(select_logs(&dirs, LogSelection::Servers(&["b".into()])).is_empty());
    }
}
