//! Notifications through `osascript`, which every Mac has. Apple's own interface takes notifications only from programs
//! in an application bundle.
//!
//! Invariant: the texts are arguments of the script, never part of it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::NotificationText;

#[cfg(target_os = "macos")]
const PROGRAM: &str = "/usr/bin/osascript";

const SCRIPT: &str = "on run {title, summary, body}
display notification body with title title subtitle summary
end run";

/// Blocks until the script ends, which may never happen.
#[cfg(target_os = "macos")]
pub(super) fn show(text: &NotificationText) -> Result<(), String> {
    show_with(Path::new(PROGRAM), text)
}

fn show_with(program: &Path, text: &NotificationText) -> Result<(), String> {
    let output = Command::new(program)
        // The first argument after the script does not begin with a dash: from there on, nothing is an option.
        .args(["-e", SCRIPT, "mux", &text.summary, &text.body])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{} failed ({}): {}",
            program.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn text() -> NotificationText {
        NotificationText {
            summary: "-e \"$(id)\" waits".into(),
            body: "mux approvals A7 shows it".into(),
        }
    }

    fn program(folder: &Path, script: &str) -> std::path::PathBuf {
        let program = folder.join("osascript");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    #[test]
    fn texts_are_arguments_of_the_script() {
        let folder = tempfile::tempdir().unwrap();
        let given = folder.path().join("given");
        let script = format!("printf '%s\\0' \"$@\" >'{}'", given.display());
        show_with(&program(folder.path(), &script), &text()).unwrap();
        let given = fs::read_to_string(given).unwrap();
        let expected = ["-e", SCRIPT, "mux", &text().summary, &text().body];
        let given: Vec<&str> = given.trim_end_matches('\0').split('\0').collect();
        assert_eq!(given, expected);
    }

    #[test]
    fn failure_is_reported_with_what_the_program_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let failing = program(folder.path(), "echo 'not allowed (-1743)' >&2; exit 1");
        let error = show_with(&failing, &text()).unwrap_err();
        assert!(error.contains("not allowed (-1743)"), "{error}");
        let error = show_with(&folder.path().join("absent"), &text()).unwrap_err();
        assert!(error.contains("cannot be started"), "{error}");
    }
}
