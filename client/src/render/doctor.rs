//! The output of `mux doctor`.

use std::process::ExitCode;

use super::terminal::println;
use serde::Serialize;
use serde_json::json;

use super::{
    amounts, document,
    style::{DIM, ERROR, GOOD, STRONG, WARN, paint},
};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Check {
    pub(crate) group: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    /// Neither good nor bad, but worth knowing.
    Note,
    /// It works, but less well or less safely than it could.
    Warning,
    /// It does not work.
    Failure,
}

pub(crate) fn doctor(checks: &[Check], json: bool) -> ExitCode {
    let number = |verdict| checks.iter().filter(|c| c.verdict == verdict).count();
    let (warnings, failures) = (number(Verdict::Warning), number(Verdict::Failure));
    if json {
        document(&json!({
            "ok": failures == 0, "warnings": warnings, "failures": failures, "checks": checks,
        }));
    } else {
        let mut group = "";
        for check in checks {
            if check.group != group {
                group = check.group;
                println!("{}", paint(STRONG, group));
            }
            show(check);
        }
        let warnings = amounts::count(warnings, "warning");
        println!("\n{}, {warnings}", amounts::count(failures, "failure"));
    }
    ExitCode::from(u8::from(failures > 0))
}

fn show(check: &Check) {
    let mark = match check.verdict {
        Verdict::Ok => paint(GOOD, "ok     "),
        Verdict::Note => paint(DIM, "note   "),
        Verdict::Warning => paint(WARN, "warning"),
        Verdict::Failure => paint(ERROR, "failure"),
    };
    // A server's message may have several lines.
    let mut lines = check.message.lines();
    println!("  {mark} {}", lines.next().unwrap_or_default());
    for line in lines {
        println!("          {line}");
    }
    if let Some(fix) = &check.fix {
        println!("          {} {fix}", paint(DIM, "fix:"));
    }
}
