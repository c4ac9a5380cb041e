//! Snapshots of what commands print, kept by `insta`: [`mux_snapshot!`](crate::mux_snapshot).
//!
//! Invariant: a snapshot has no value of one run or of one machine. Paths, ids and times are replaced by a name in
//! brackets.

use std::fmt::Write as _;

use std::fmt::{self, Display};

use insta::internals::SettingsBindDropGuard;

use crate::{Output, TestEnv, env::binary};

/// Compares an [`Output`], a [`CommandTranscript`] or a text with a snapshot: `mux_snapshot!(output, @"…")` with one in the
/// source, `mux_snapshot!("name", output)` with the file `snapshots/name.snap` beside the source.
#[macro_export]
macro_rules! mux_snapshot {
    ($output:expr, @$snapshot:literal) => {{
        let _settings = $crate::output_snapshot::bind_filters(&[]);
        ::insta::assert_snapshot!($crate::output_snapshot::text(&$output), @$snapshot);
    }};
    ($name:literal, $output:expr) => {{
        let _settings = $crate::output_snapshot::bind_filters(&[]);
        ::insta::assert_snapshot!($name, $crate::output_snapshot::text(&$output));
    }};
}

/// For tables whose columns are as wide as a value that is replaced.
pub const TABLE: (&str, &str) = (r" {3,}", "  ");

/// Patterns of values that differ between runs, and what replaces them.
const FILTERS: &[(&str, &str)] = &[
    (r"/tmp/mux-[A-Za-z0-9]{6}\b", "[HOME]"),
    (
        r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?",
        "[TIME]",
    ),
    (r"\b\d{4}-\d\d-\d\d\b", "[DATE]"),
    (r"\b\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "[TIME]"),
    (r"\.mux-backup-[0-9A-Za-z-]+", ".mux-backup-[DATE]"),
    (r"\bh_[0-9a-f]{32}\b", "[HANDLE]"),
    (r"\b[0-9a-f]{32,64}\b", "[DIGEST]"),
    (r"\b[0-9a-f]{20}-(\d+)\b", "[RUN]-$1"),
    // The fixture server has many, and gets more.
    (r"\b\d{2,} tools\b", "[COUNT] tools"),
    (r"\b\d+(\.\d)? m?s\b", "[DURATION]"),
    (r"\b(\d+[smhd] ago|just now)\b|(?m:( {2})now\b)", "$2[AGE]"),
    (r"\bpid (\d+)", "pid [PID]"),
    (r"\bmuxd \d+ ", "muxd [PID] "),
    (r"\b(127\.0\.0\.1|localhost):\d{4,}", "$1:[PORT]"),
    // The width of a column depends on the replaced value.
    (r"(\[(DURATION|AGE|PID)\]) {2,}", "$1  "),
];

/// Applies the filters to the snapshots of this thread while the guard lives, and `more` before them.
pub fn bind_filters(more: &[(&str, &str)]) -> SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, replacement) in more.iter().chain(FILTERS) {
        settings.add_filter(pattern, *replacement);
    }
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind_to_scope()
}

/// The text of a snapshot. Programs of this workspace are in `[BIN]`, regardless of the target folder.
pub fn text(output: &impl Display) -> String {
    let mux = binary("mux");
    let version = concat!(" ", env!("CARGO_PKG_VERSION"));
    output
        .to_string()
        .replace(mux.parent().unwrap().to_str().unwrap(), "[BIN]")
        .replace(version, " [VERSION]")
}

impl Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "success: {}", self.code == 0)?;
        writeln!(f, "exit_code: {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            writeln!(f, "----- {name} -----")?;
            f.write_str(text)?;
            if !text.is_empty() && !text.ends_with('\n') {
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// Several commands and their output, as one string.
#[derive(Default)]
pub struct CommandTranscript(String);

impl CommandTranscript {
    pub fn add(&mut self, command: impl Display, output: &Output) {
        _ = write!(self.0, "$ {command}\n{output}\n");
    }
}

impl Display for CommandTranscript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TestEnv {
    /// Runs commands one after the other.
    pub fn transcript(&self, commands: &[&[&str]]) -> CommandTranscript {
        let mut transcript = CommandTranscript::default();
        for args in commands {
            transcript.add(format!("mux {}", args.join(" ")), &self.mux(*args));
        }
        transcript
    }
}
