//! A parser of log lines. Pure.
//!
//! A line of the daemon's log starts with a time, a level and its spans, a line of a server's log with a time and the
//! runs that had calls in flight. All other lines are text.

use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::args::LogLevel;

/// The log that a line is from. As JSON, the name of the server.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(untagged)]
pub(crate) enum LogSource {
    Daemon,
    /// A server, named after its log file.
    Server(String),
}

impl LogSource {
    fn is_daemon(&self) -> bool {
        *self == Self::Daemon
    }
}

/// A parsed line of a log.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LogLine {
    #[serde(rename = "server", skip_serializing_if = "LogSource::is_daemon")]
    pub(crate) source: LogSource,
    /// A line without a time inherits that of the previous line.
    #[serde(serialize_with = "rfc3339_text")]
    pub(crate) time: Option<SystemTime>,
    pub(crate) level: Option<LogLevel>,
    /// The run in which the daemon wrote the line, or the runs with calls in flight when the server wrote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) runs: Vec<String>,
    pub(crate) text: String,
    /// The length of the whole line, if `text` is truncated.
    pub(crate) bytes: Option<u64>,
}

/// The context that a line passes on to the following lines without a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LineContext {
    time: Option<SystemTime>,
    level: Option<LogLevel>,
    runs: Vec<String>,
}

impl LogLine {
    /// Parses a line. `kept` is its beginning, `length` the length of the whole line.
    pub(crate) fn parse_log_line(source: &LogSource, kept: &[u8], length: u64) -> Self {
        let text = String::from_utf8_lossy(kept);
        let text = text.trim_end_matches('\r');
        let mut line = Self {
            source: source.clone(),
            time: None,
            level: None,
            runs: Vec::new(),
            text: text.to_owned(),
            bytes: (length > kept.len() as u64).then_some(length),
        };
        let Some((time, rest)) = split_time(text) else {
            return line;
        };
        line.time = Some(time);
        match source {
            LogSource::Daemon => line.parse_daemon_line(rest.trim_start()),
            LogSource::Server(_) => line.parse_server_line(rest),
        }
        line
    }

    fn parse_daemon_line(&mut self, rest: &str) {
        let (level, text) = rest.split_once(' ').unwrap_or((rest, ""));
        self.level = level.parse().ok();
        let text = if self.level.is_some() { text } else { rest };
        text.clone_into(&mut self.text);
        // The run is the outermost span, so foreign text cannot precede it.
        let run = text.strip_prefix("run{id=").and_then(|rest| {
            let id = rest.split(['}', ' ']).next()?;
            Some(id.trim_matches('"'))
        });
        self.runs
            .extend(run.filter(|id| is_run_id(id)).map(str::to_owned));
    }

    fn parse_server_line(&mut self, rest: &str) {
        let (runs, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let names: Vec<&str> = runs.split(',').collect();
        let text = if runs == "-" {
            text
        } else if names.iter().all(|id| is_run_id(id)) {
            self.runs.extend(names.into_iter().map(str::to_owned));
            text
        } else {
            // A line from before lines were marked with runs.
            rest
        };
        text.clone_into(&mut self.text);
        self.level = mcp_level(text);
    }

    /// The context that the following lines inherit.
    pub(crate) fn line_context(&self) -> LineContext {
        LineContext {
            time: self.time,
            level: self.level,
            runs: self.runs.clone(),
        }
    }

    /// Inherits from the previous line, for a line without a time.
    pub(crate) fn inherit_context(&mut self, before: &LineContext) {
        self.time = before.time;
        self.level = before.level;
        self.runs.clone_from(&before.runs);
    }
}

/// A time as the log files have it.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn rfc3339_text<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    let text = time.map(|time| humantime::format_rfc3339_micros(time).to_string());
    text.serialize(to)
}

/// Splits the leading time from a line.
fn split_time(text: &str) -> Option<(SystemTime, &str)> {
    let (first, rest) = text.split_once(' ')?;
    let is_like = (20..=35).contains(&first.len()) && first.ends_with('Z');
    let time = is_like.then(|| humantime::parse_rfc3339(first).ok())??;
    Some((time, rest))
}

/// Returns true if a string is a run id: `19a2b3c4d5-12`.
fn is_run_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(epoch, number)| {
        !epoch.is_empty()
            && epoch.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The level of a log message sent over MCP, which the daemon writes in front of it.
fn mcp_level(text: &str) -> Option<LogLevel> {
    let (level, _) = text.strip_prefix('[')?.split_once("] ")?;
    match level {
        "Debug" => Some(LogLevel::Debug),
        "Info" | "Notice" => Some(LogLevel::Info),
        "Warning" => Some(LogLevel::Warn),
        "Error" | "Critical" | "Alert" | "Emergency" => Some(LogLevel::Error),
        _ => None,
    }
}

/// Returns true if `wanted` is the run's id, or the number after the dash of the id.
pub(crate) fn matches_run(id: &str, wanted: &str) -> bool {
    let number = id.rsplit_once('-').map(|(_, number)| number);
    !id.is_empty() && (id == wanted || number == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &LogSource, text: &str) -> LogLine {
        LogLine::parse_log_line(source, text.as_bytes(), text.len() as u64)
    }

    #[test]
    fn daemon_line_has_level_and_run() {
        for (text, level, runs, rest) in [
            (
                "2026-11-22T08:00:00.123456Z  INFO run{id=\"f3a-12\"}: mux: over",
                Some(LogLevel::Info),
                vec!["f3a-12"],
                "run{id=\"f3a-12\"}: mux: over",
            ),
            (
                "2026-11-22T08:00:00.123456Z DEBUG run{id=f3a-12}:call{path=\"a.b\"}: x",
                Some(LogLevel::Debug),
                vec!["f3a-12"],
                "run{id=f3a-12}:call{path=\"a.b\"}: x",
            ),
            (
                "2026-11-22T08:00:00.123456Z ERROR mux: said run{id=\"f3a-12\"}",
                Some(LogLevel::Error),
                vec![],
                "mux: said run{id=\"f3a-12\"}",
            ),
            ("2026-11-22T08:00:00.123456Z what", None, vec![], "what"),
            ("2026-11-22T08:00:00Z ", None, vec![], ""),
        ] {
            let line = read(&LogSource::Daemon, text);
            assert!(line.time.is_some(), "{text}");
            assert_eq!((line.level, &*line.text), (level, rest));
            assert_eq!(line.runs, runs);
        }
    }

    #[test]
    fn server_line_has_runs_in_flight() {
        let source = LogSource::Server("files".into());
        for (text, level, runs, rest) in [
            (
                "2026-11-22T08:00:00.123456Z - hello there",
                None,
                vec![],
                "hello there",
            ),
            (
                "2026-11-22T08:00:00.123456Z f3a-1,f3a-12 a",
                None,
                vec!["f3a-1", "f3a-12"],
                "a",
            ),
            (
                "2026-11-22T08:00:00.123456Z - f3a-1 a",
                None,
                vec![],
                "f3a-1 a",
            ),
            (
                "2026-11-22T08:00:00.123456Z - [Warning] a",
                Some(LogLevel::Warn),
                vec![],
                "[Warning] a",
            ),
            // The format from before lines were marked with runs.
            (
                "2026-11-22T08:00:00Z its own words",
                None,
                vec![],
                "its own words",
            ),
        ] {
            let line = read(&source, text);
            assert_eq!((line.level, &*line.text), (level, rest));
            assert_eq!(line.runs, runs);
        }
    }

    #[test]
    fn arbitrary_bytes_are_a_line() {
        for bytes in [
            &b""[..],
            b" ",
            b"\xff\xfe\x00\x1b[2J",
            b"2026-13-45T99:00:00.123456Z INFO x",
            b"2026-11-22T08:00:00.123456ZINFO",
            "🙂🙂🙂🙂🙂🙂 x".as_bytes(),
        ] {
            let line = LogLine::parse_log_line(&LogSource::Daemon, bytes, bytes.len() as u64);
            assert_eq!((line.time, line.level, line.bytes), (None, None, None));
        }
        let long = LogLine::parse_log_line(&LogSource::Daemon, b"abc", 10_000_000);
        assert_eq!(long.bytes, Some(10_000_000));
    }

    #[test]
    fn run_is_matched_by_its_id_or_number() {
        assert!(matches_run("f3a-12", "12") && matches_run("f3a-12", "f3a-12"));
        assert!(
            !matches_run("f3a-12", "2") && !matches_run("f3a-12", "f3a") && !matches_run("", "")
        );
    }
}
