//! One line for each call of a run, on a terminal.
//!
//! Invariant: the number of lines is bounded. Further calls are counted.

use mux_proto::Error;
use mux_typegen::names::display_path;

use super::{
    failure::with_display_path,
    human_units,
    style::{DIM, ERROR, one_line, paint},
};

/// The maximum number of calls with a separate line.
const MAX_CALL_LINES: usize = 20;
/// The maximum length of an error message, in characters.
const MAX_CALL_MESSAGE_CHARS: usize = 80;
/// The maximum length of a name, in characters.
const MAX_CALL_NAME_CHARS: usize = 60;

/// Renders lines for ended calls, and counts the calls without a line.
#[derive(Debug, Default)]
pub(super) struct CallLines {
    shown: usize,
    more: usize,
    more_failed: usize,
    is_unlimited: bool,
}

impl CallLines {
    pub(super) fn unlimited() -> Self {
        Self {
            is_unlimited: true,
            ..Self::default()
        }
    }

    fn is_full(&self) -> bool {
        !self.is_unlimited && self.shown == MAX_CALL_LINES
    }

    /// The line for a call that has ended, or `None` if the limit is reached.
    pub(super) fn ended(
        &mut self,
        name: &str,
        ms: f64,
        bytes: usize,
        error: Option<&Error>,
    ) -> Option<String> {
        if self.is_full() {
            self.more += 1;
            self.more_failed += usize::from(error.is_some());
            return None;
        }
        self.shown += 1;
        Some(call_line(name, ms, bytes, error))
    }

    /// The line for a skipped step, or `None` if the limit is reached.
    pub(super) fn skipped(&mut self, step: &str, tool: &str, reason: &str) -> Option<String> {
        if self.is_full() {
            self.more += 1;
            return None;
        }
        self.shown += 1;
        Some(skipped_line(step, tool, reason))
    }

    /// The line that counts the calls without a separate line.
    pub(super) fn remaining_line(&self) -> Option<String> {
        if self.more == 0 {
            return None;
        }
        let calls = human_units::count_text(self.more, "more call");
        let failed = match self.more_failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        Some(paint(DIM, format!("  \u{2026} and {calls}{failed}")))
    }
}

/// The name of a call's tool, as written in programs.
pub(super) fn tool_name(path: &str) -> String {
    one_line(&display_path(path), MAX_CALL_NAME_CHARS)
}

/// The line for a call or step that has ended.
pub(super) fn call_line(name: &str, ms: f64, bytes: usize, error: Option<&Error>) -> String {
    let name = one_line(name, MAX_CALL_NAME_CHARS);
    let took = human_units::duration_text(ms);
    match error {
        None => {
            let size = human_units::size_text(bytes as u64);
            paint(DIM, format!("  \u{2713} {name}  {took}  {size}"))
        }
        Some(error) => {
            let message = with_display_path(error, &error.message);
            let message = one_line(&message, MAX_CALL_MESSAGE_CHARS);
            let rest = format!("{name}  {took}  {}: {message}", error.kind);
            format!("  {} {}", paint(ERROR, '\u{2717}'), paint(DIM, rest))
        }
    }
}

/// The name of a step, instead of its call's path.
pub(super) fn step_name(step: &str, tool: &str) -> String {
    format!(
        "{}  {}",
        one_line(step, MAX_CALL_NAME_CHARS),
        tool_name(tool)
    )
}

/// The line for a skipped step.
pub(super) fn skipped_line(id: &str, tool: &str, reason: &str) -> String {
    let reason = one_line(reason, MAX_CALL_MESSAGE_CHARS);
    let name = one_line(&step_name(id, tool), MAX_CALL_NAME_CHARS);
    paint(DIM, format!("  \u{2013} {name}  skipped: {reason}"))
}

/// The line for a call in flight, with the server's progress.
pub(crate) fn call_progress_line(
    path: &str,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) -> String {
    let far = match total {
        Some(total) if total > 0.0 && progress.is_finite() => {
            format!("{:.0} %", (progress / total * 100.0).clamp(0.0, 100.0))
        }
        _ => format!("{progress}"),
    };
    let path = tool_name(path);
    match message.map(|message| one_line(message, MAX_CALL_MESSAGE_CHARS)) {
        Some(message) if !message.is_empty() => format!("{path}  {far}  {message}"),
        _ => format!("{path}  {far}"),
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::Kind;

    use super::*;

    fn plain(line: &str) -> String {
        anstream::adapter::strip_str(line).to_string()
    }

    #[test]
    fn ended_call_is_one_line_without_control_characters() {
        assert_eq!(
            plain(&call_line("files.read", 12.3, 3482, None)),
            "  ✓ files.read  12 ms  3.4 KiB"
        );
        let error = Error::new(Kind::Tool, format!("no\n\u{1b}[2J{}", "x".repeat(200)));
        let shown = plain(&call_line("a.b", 0.5, 0, Some(&error)));
        let begin = "  ✗ a.b  0.5 ms  tool: no  [2Jxxx";
        assert!(shown.starts_with(begin) && shown.ends_with('…'), "{shown}");
        assert!(!shown.contains(['\n', '\u{1b}']), "{shown:?}");
    }

    #[test]
    fn call_in_flight_is_one_line_with_progress() {
        for (total, message, expected) in [
            (Some(8.0), None, "a.b  25 %"),
            (Some(0.0), None, "a.b  2"),
            (Some(1.0), Some("x\n\u{1b}y"), "a.b  100 %  x y"),
            (None, Some(""), "a.b  2"),
        ] {
            let shown = call_progress_line("a.b", 2.0, total, message);
            assert_eq!(shown.replace("  y", " y"), expected);
        }
    }

    #[test]
    fn step_is_one_line_with_its_tool() {
        assert_eq!(tool_name("my-files.get-it"), "my_files.get_it");
        assert_eq!(
            tool_name("my-files.resources/read"),
            "my-files.resources/read"
        );
        let name = step_name("list", "files.list");
        let shown = plain(&call_line(&name, 3.0, 10, None));
        assert_eq!(shown, "  \u{2713} list  files.list  3 ms  10 B");
        let shown = plain(&skipped_line("read", "files.read", "`list` failed\n"));
        assert_eq!(
            shown,
            "  \u{2013} read  files.read  skipped: `list` failed "
        );
    }

    #[test]
    fn calls_beyond_the_limit_are_counted() {
        let error = Error::new(Kind::Tool, "no");
        let mut lines = CallLines::default();
        for number in 0..MAX_CALL_LINES {
            assert_eq!(lines.remaining_line(), None);
            let error = (number == 0).then_some(&error);
            assert!(lines.ended("a.b", 1.0, 1, error).is_some());
        }
        assert_eq!(lines.ended("a.b", 1.0, 1, None), None);
        assert_eq!(
            plain(&lines.remaining_line().unwrap()),
            "  … and 1 more call"
        );
        for number in 0..311 {
            let error = (number < 4).then_some(&error);
            assert_eq!(lines.ended("a.b", 1.0, 1, error), None);
        }
        assert_eq!(
            plain(&lines.remaining_line().unwrap()),
            "  … and 312 more calls, 4 failed"
        );
    }
}
