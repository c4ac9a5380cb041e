//! Lines of the daemon's log and of servers' logs.
//!
//! Invariant: control characters in log lines are escaped, in JSON output, too.

use std::{
    io::{Write as _, stdout},
    time::SystemTime,
};

use super::terminal::{escaped_json, println, spelled_out};
use serde_json::{Map, Value, json};

use super::{
    amounts,
    style::{DIM, ERROR, GOOD, NAME, WARN, paint},
};
use crate::{
    args::Level,
    log_line::{Line, Source},
};

/// The maximum length of a line that is shown to a person, in bytes.
const SHOWN: usize = 4096;

/// Prints lines; with `json`, one object per line, because the output may be endless.
pub(crate) fn logs(lines: &[Line], json: bool) {
    for line in lines {
        match json {
            true => println!("{}", escaped_json(&object(line).to_string())),
            false => println!("{}", row(line)),
        }
    }
    if !lines.is_empty() {
        // A reader of a pipe may be waiting. A closed pipe is not an error.
        drop(stdout().flush());
    }
}

fn object(line: &Line) -> Value {
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
        Source::Daemon => {
            set("source", json!("muxd"));
            if let Some(run) = line.runs.first() {
                set("run", json!(run));
            }
        }
        Source::Server(name) => {
            set("source", json!("server"));
            set("server", json!(name));
            if !line.runs.is_empty() {
                set("during", runs);
            }
        }
    }
    if let Some(level) = line.level {
        set("level", json!(word(level).to_lowercase()));
    }
    set("text", json!(line.text));
    if let Some(bytes) = line.bytes {
        set("bytes", json!(bytes));
    }
    Value::Object(object)
}

fn row(line: &Line) -> String {
    let time = paint(DIM, line.time.map_or_else(|| "-".repeat(23), shown));
    let level = match line.level {
        None => " ".repeat(5),
        Some(level) => {
            let word = format!("{:<5}", word(level));
            match level {
                Level::Trace | Level::Debug => paint(DIM, word),
                Level::Info => paint(GOOD, word),
                Level::Warn => paint(WARN, word),
                Level::Error => paint(ERROR, word),
            }
        }
    };
    let (source, during) = match &line.source {
        Source::Daemon => ("muxd", String::new()),
        Source::Server(name) if line.runs.is_empty() => (name.as_str(), String::new()),
        Source::Server(name) => {
            let during = format!("(during {}) ", line.runs.join(", "));
            (name.as_str(), paint(DIM, during))
        }
    };
    let source = paint(NAME, format!("{:<8}", harmless(source)));
    let end = line.text.floor_char_boundary(SHOWN);
    let whole = line.bytes.unwrap_or(line.text.len() as u64);
    let more = match whole > end as u64 {
        true => paint(DIM, format!("\u{2026} ({} in all)", amounts::bytes(whole))),
        false => String::new(),
    };
    let text = harmless(&line.text[..end]);
    format!("{time} {level} {source} {during}{text}{more}")
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Trace => "TRACE",
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    }
}

/// Formats a time in UTC, with milliseconds.
fn shown(time: SystemTime) -> String {
    let time = humantime::format_rfc3339_millis(time).to_string();
    time.trim_end_matches('Z').replacen('T', " ", 1)
}

fn harmless(text: &str) -> String {
    spelled_out(text).replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: Source, text: &str) -> Line {
        Line {
            source,
            time: Some(SystemTime::UNIX_EPOCH),
            level: Some(Level::Warn),
            runs: vec!["f3a-1".into()],
            text: text.into(),
            bytes: None,
        }
    }

    /// A row without colors.
    fn plain(line: &Line) -> String {
        anstream::adapter::strip_str(&row(line)).to_string()
    }

    #[test]
    fn row_has_time_level_source_and_run() {
        let server = Source::Server("files".into());
        assert_eq!(
            plain(&line(server.clone(), "a\tb")),
            "1970-01-01 00:00:00.000 WARN  files    (during f3a-1) a\tb"
        );
        assert_eq!(
            plain(&line(Source::Daemon, "x")),
            "1970-01-01 00:00:00.000 WARN  muxd     x"
        );
        let object = object(&line(server, "x"));
        assert_eq!(object["during"], json!(["f3a-1"]));
        assert_eq!(
            (&object["level"], &object["server"]),
            (&json!("warn"), &json!("files"))
        );
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        let evil = "\u{1b}[2J\u{9b}1m\r\u{202e}\u{7}";
        let shown = plain(&line(Source::Daemon, evil));
        assert!(
            shown.ends_with("\\u{1b}[2J\\u{9b}1m\\r\\u{202e}\\u{7}"),
            "{shown}"
        );
        let object = object(&line(Source::Daemon, evil)).to_string();
        let escaped = escaped_json(&object);
        assert!(!escaped.chars().any(|c| c.is_control() || c == '\u{202e}'));
        let back: Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(back["text"], evil);
    }

    #[test]
    fn long_line_is_truncated_with_its_length() {
        let mut long = line(Source::Daemon, &"é".repeat(SHOWN));
        let shown = plain(&long);
        assert!(
            shown.ends_with("\u{2026} (8.0 KiB in all)") || shown.contains("in all"),
            "{shown}"
        );
        long.bytes = Some(10 << 20);
        assert!(plain(&long).contains("10"), "{}", plain(&long));
        assert!(plain(&long).len() < 2 * SHOWN);
    }
}
