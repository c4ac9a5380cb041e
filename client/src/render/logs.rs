//! Lines of the daemon's log and of servers' logs.
//!
//! Invariant: control characters in log lines are escaped, also in JSON output.

use std::time::SystemTime;

use super::terminal::{escape_visible, escaped_json, println};
use serde_json::{Map, Value, json};

use super::{
    human_units, run_number,
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
            println!("{}", escaped_json(&line_json(line).to_string()));
        } else {
            println!("{}", line_row(line));
        }
    }
}

/// A line as JSON. Its `text` is not escaped.
pub(crate) fn line_json(line: &LogLine) -> Value {
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    if let Some(time) = line.time {
        set(
            "time",
            json!(humantime::format_rfc3339_micros(time).to_string()),
        );
    }
    let runs = json!(line.runs);
    match &line.source {
        LogSource::Daemon => {
            set("source", json!("muxd"));
            if let Some(run) = line.runs.first() {
                set("run", json!(run));
            }
        }
        LogSource::Server(name) => {
            set("source", json!("server"));
            set("server", json!(name));
            if !line.runs.is_empty() {
                set("during", runs);
            }
        }
    }
    if let Some(level) = line.level {
        set("level", json!(<&str>::from(level).to_lowercase()));
    }
    set("text", json!(line.text));
    if let Some(bytes) = line.bytes {
        set("bytes", json!(bytes));
    }
    Value::Object(object)
}

fn line_row(line: &LogLine) -> String {
    let unknown = || "-".repeat(human_units::time_text(SystemTime::now()).len());
    let time = line.time.map_or_else(unknown, human_units::time_text);
    let time = paint(DIM, time);
    let level = match line.level {
        None => " ".repeat(5),
        Some(level) => {
            let word = format!("{:<5}", <&str>::from(level));
            match level {
                LogLevel::Trace | LogLevel::Debug => paint(DIM, word),
                LogLevel::Info => paint(GOOD, word),
                LogLevel::Warn => paint(WARN, word),
                LogLevel::Error => paint(ERROR, word),
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
    use super::*;

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
        let object = line_json(&line(server, "x"));
        assert_eq!(object["during"], json!(["f3a-1"]));
        assert_eq!(
            (&object["level"], &object["server"]),
            (&json!("warn"), &json!("files"))
        );
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let evil = "\u{1b}[2J\u{9b}1m\r\u{202e}\u{7}";
        let shown = plain(&line(LogSource::Daemon, evil));
        assert!(
            shown.ends_with("\\u{1b}[2J\\u{9b}1m\\r\\u{202e}\\u{7}"),
            "{shown}"
        );
        let object = line_json(&line(LogSource::Daemon, evil)).to_string();
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
