//! Lines of the daemon's log and of servers' logs.
//!
//! Invariant: control characters in log lines are escaped, also in JSON output.

use std::time::SystemTime;

use super::terminal::{escape_visible, println};

use super::{
    human_units, print_json_line, run_number,
    style::{DIM, ERROR, GOOD, NAME, WARN, paint},
};
use crate::{
    args::LogLevel,
    log_line::{LogLine, LogSource},
};

/// The maximum length of a line that is shown to a person, in bytes.
const MAX_SHOWN_LINE_BYTES: usize = 4096;

/// Prints lines. With `json`, one object per line, because the output may be endless.
pub(crate) fn logs(lines: &[LogLine], json: bool) {
    for line in lines {
        if json {
            print_json_line(line);
        } else {
            println!("{}", line_row(line));
        }
    }
}

fn line_row(line: &LogLine) -> String {
    let unknown = || "-".repeat(human_units::time_text(SystemTime::now()).len());
    let time = line.time.map_or_else(unknown, human_units::time_text);
    let time = paint(DIM, time);
    let level = match line.level {
        None => " ".repeat(5),
        Some(level) => {
            let name = format!("{:<5}", <&str>::from(level));
            match level {
                LogLevel::Trace | LogLevel::Debug => paint(DIM, name),
                LogLevel::Info => paint(GOOD, name),
                LogLevel::Warn => paint(WARN, name),
                LogLevel::Error => paint(ERROR, name),
            }
        }
    };
    let (source, during) = match &line.source {
        LogSource::Daemon => ("muxd", String::new()),
        LogSource::Server(name) if line.runs.is_empty() => (name.as_str(), String::new()),
        LogSource::Server(name) => {
            let runs: Vec<&str> = line.runs.iter().map(|run| run_number(run)).collect();
            let during = format!("(during run {}) ", runs.join(", "));
            (name.as_str(), paint(DIM, during))
        }
    };
    let source = paint(NAME, format!("{:<8}", escape_line(source)));
    let end = line.text.floor_char_boundary(MAX_SHOWN_LINE_BYTES);
    let whole = line.bytes.unwrap_or(line.text.len() as u64);
    let more = if whole > end as u64 {
        paint(
            DIM,
            format!("\u{2026} ({} in all)", human_units::size_text(whole)),
        )
    } else {
        String::new()
    };
    let text = escape_line(&line.text[..end]);
    format!("{time} {level} {source} {during}{text}{more}")
}

fn escape_line(text: &str) -> String {
    escape_visible(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::terminal::escaped_json, *};

    fn line(source: LogSource, text: &str) -> LogLine {
        LogLine {
            source,
            time: Some(SystemTime::UNIX_EPOCH),
            level: Some(LogLevel::Warn),
            runs: vec!["f3a-1".into()],
            text: text.into(),
            bytes: None,
        }
    }

    /// A row without colors.
    fn plain(line: &LogLine) -> String {
        anstream::adapter::strip_str(&line_row(line)).to_string()
    }

    #[test]
    fn row_has_time_level_source_and_run() {
        let server = LogSource::Server("files".into());
        let epoch = human_units::time_text(SystemTime::UNIX_EPOCH);
        assert_eq!(
            plain(&line(server.clone(), "a\tb")),
            format!("{epoch} WARN  files    (during run 1) a\tb")
        );
        assert_eq!(
            plain(&line(LogSource::Daemon, "x")),
            format!("{epoch} WARN  muxd     x")
        );
        let object = json!(line(server, "x"));
        assert_eq!(
            object,
            json!({
                "server": "files", "time": "1970-01-01T00:00:00.000000Z", "level": "warn", "runs": ["f3a-1"],
                "text": "x",
            })
        );
        let object = json!(line(LogSource::Daemon, "x"));
        assert_eq!(object.get("server"), None);
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let evil = "\u{1b}[2J\u{9b}1m\r\u{202e}\u{7}";
        let shown = plain(&line(LogSource::Daemon, evil));
        assert!(
            shown.ends_with("\\u{1b}[2J\\u{9b}1m\\r\\u{202e}\\u{7}"),
            "{shown}"
        );
        let object = json!(line(LogSource::Daemon, evil)).to_string();
        let escaped = escaped_json(&object);
        assert!(!escaped.chars().any(|c| c.is_control() || c == '\u{202e}'));
        let back: Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(back["text"], evil);
    }

    #[test]
    fn long_line_is_truncated_with_its_length() {
        let mut long = line(LogSource::Daemon, &"é".repeat(MAX_SHOWN_LINE_BYTES));
        let shown = plain(&long);
        assert!(
            shown.ends_with("\u{2026} (8.0 KiB in all)") || shown.contains("in all"),
            "{shown}"
        );
        long.bytes = Some(10 << 20);
        assert!(plain(&long).contains("10"), "{}", plain(&long));
        assert!(plain(&long).len() < 2 * MAX_SHOWN_LINE_BYTES);
    }
}
