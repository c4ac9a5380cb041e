//! The output of `mux doctor`.

use std::process::ExitCode;

use super::terminal::println;
use serde::Serialize;
use serde_json::json;

use super::{
    human_units, print_document,
    style::{DIM, ERROR, GOOD, STRONG, WARN, paint},
};

/// The result of one check, whose group is the part of the installation that it is about.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct DoctorCheck {
    pub(crate) group: &'static str,
    pub(crate) verdict: CheckVerdict,
    pub(crate) message: String,
    /// The fix.
    pub(crate) fix: Option<String>,
    /// More about the message, shown on request.
    pub(crate) detail: Option<String>,
}

/// Ordered by severity.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckVerdict {
    Ok,
    /// Neither good nor bad, but worth knowing.
    Note,
    /// The checked part works, but less well or less safely than it could.
    Warning,
    /// The checked part does not work.
    Failure,
}

pub(crate) fn doctor(checks: &[DoctorCheck], json: bool) -> ExitCode {
    let number = |verdict| checks.iter().filter(|c| c.verdict == verdict).count();
    let warnings = number(CheckVerdict::Warning);
    let failures = number(CheckVerdict::Failure);
    if json {
        print_document(&json!({
            "ok": failures == 0, "warnings": warnings, "failures": failures, "checks": checks,
        }));
    } else {
        for check in checks {
            print_check(check);
        }
        let warnings = human_units::count_text(warnings, "warning");
        println!(
            "\n{}, {warnings}",
            human_units::count_text(failures, "failure")
        );
    }
    ExitCode::from(u8::from(failures > 0))
}

fn print_check(check: &DoctorCheck) {
    let mark = match check.verdict {
        CheckVerdict::Ok => paint(GOOD, "ok     "),
        CheckVerdict::Note => paint(DIM, "note   "),
        CheckVerdict::Warning => paint(WARN, "warning"),
        CheckVerdict::Failure => paint(ERROR, "failure"),
    };
    // A server's message may have several lines.
    let mut lines = check.message.lines();
    let group = paint(STRONG, check.group);
    println!("{mark} {group}: {}", lines.next().unwrap_or_default());
    for line in lines {
        println!("        {line}");
    }
    if let Some(fix) = &check.fix {
        println!("        {} {fix}", paint(DIM, "fix:"));
    }
}
