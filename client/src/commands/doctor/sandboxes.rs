//! Checks which layers of sandboxes this machine has, for programs and servers, before any of them runs.
//!
//! Invariant: `muxd` tries the layers, as it does for a server. No conclusion is drawn from a version
//! here.

use std::{path::Path, process::Stdio, time::Duration};

use mux_proto::{SANDBOX_SUPPORT, SandboxSupportReport};
use tokio::{process::Command, time::timeout};

use super::CheckGroup;

const SUPPORT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn check_sandboxes(group: &mut CheckGroup, muxd: &Path) {
    match sandbox_support(muxd).await {
        Ok(report) => show_support(group, report),
        Err(problem) => group.warn(
            format!(
                "{} does not report what it can enforce: {problem}",
                muxd.display()
            ),
            "install mux and muxd from the same build",
        ),
    }
}

async fn sandbox_support(muxd: &Path) -> Result<SandboxSupportReport, String> {
    let mut command = Command::new(muxd);
    command
        .arg(SANDBOX_SUPPORT)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(SUPPORT_TIMEOUT, command.output())
        .await
        .map_err(|_| format!("it did not exit within {SUPPORT_TIMEOUT:?}"))?
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(stderr.trim().to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn show_support(group: &mut CheckGroup, report: SandboxSupportReport) {
    let layers = report.layers.join(", ");
    if report.has_sandboxes {
        group.ok(format!("servers in a sandbox get the layers {layers}"));
    } else {
        group.warn(
            "a server whose entry has a sandbox does not start here",
            "the lines below show what is missing; sandbox = false starts it without a sandbox",
        );
    }
    for note in report.notes {
        if note.is_weaker {
            group.warn(note.message, note.fix);
        } else {
            group.note(note.message, Some(&note.fix));
        }
    }
}

#[cfg(test)]
mod tests {
    use mux_proto::SandboxSupportNote;

    use super::{super::CheckVerdict, *};

    #[test]
    fn notes_follow_the_layers() {
        let note = |message: &str, is_weaker| SandboxSupportNote {
            message: message.into(),
            fix: "mend it".into(),
            is_weaker,
        };
        let mut report = SandboxSupportReport {
            layers: vec!["landlock".into(), "seccomp".into()],
            has_sandboxes: true,
            notes: vec![note("no namespaces", true), note("root", false)],
        };
        let shown = |report: &SandboxSupportReport| {
            let mut group = CheckGroup::new("sandboxes");
            show_support(&mut group, report.clone());
            let checks = group.checks.into_iter();
            checks
                .map(|check| (check.verdict, check.message))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(&report),
            [
                (
                    CheckVerdict::Ok,
                    "servers in a sandbox get the layers landlock, seccomp".into()
                ),
                (CheckVerdict::Warning, "no namespaces".into()),
                (CheckVerdict::Note, "root".into()),
            ]
        );
        report.has_sandboxes = false;
        let (verdict, message) = shown(&report).remove(0);
        assert_eq!(verdict, CheckVerdict::Warning);
        assert!(message.contains("does not start"), "{message}");
    }
}
