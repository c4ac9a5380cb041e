//! A task of Windows' Task Scheduler that starts muxd at the user's logon, without administrator rights.
//!
//! Invariant: pure. A task definition is ASCII without a declared encoding, because `schtasks` reads a file in the
//! encoding of the system.

use std::{fmt::Write as _, path::Path};

use super::{
    service_command::ServiceStep,
    unit_files::{ServiceSpec, UnwritablePathError, escape_xml, plain_path},
};

const TASK_TEMPLATE: &str = include_str!("../../../../scripts/service/muxd.task.xml");

/// The file that `schtasks` reads.
pub(super) fn task_file_name(name: &str) -> String {
    format!("{name}.task.xml")
}

/// The definition of the task. muxd starts at the logon of `user`, given as `DOMAIN\NAME`.
pub(super) fn task_text(
    described: &ServiceSpec,
    user: &str,
) -> Result<String, UnwritablePathError> {
    let of = match &described.home {
        Some(home) => format!(" (MUX_HOME={})", plain_path(home)?),
        None => String::new(),
    };
    let text = TASK_TEMPLATE
        .replace("@OF@", &escape_xml(&of))
        .replace("@USER@", &escape_xml(user))
        .replace("@ARGUMENTS@", &escape_xml(&console_arguments(described)?));
    Ok(spell_as_ascii(&text))
}

/// The arguments of `conhost.exe`. A task has no environment variables: if muxd needs some, the command interpreter
/// sets them.
fn console_arguments(described: &ServiceSpec) -> Result<String, UnwritablePathError> {
    let muxd = quotable_path(&described.muxd)?;
    let mut settings = String::new();
    for (name, value) in &described.variables {
        _ = write!(settings, "set \"{name}={}\"&& ", quotable_path(value)?);
    }
    Ok(match settings.as_str() {
        "" => format!("--headless \"{muxd}\""),
        // With /s, only the outermost quotes are taken away.
        settings => {
            format!("--headless %SystemRoot%\\System32\\cmd.exe /d /s /c \"{settings}\"{muxd}\"\"")
        }
    })
}

/// A path that does not change within the command interpreter's quotes, nor in Task Scheduler, which expands variables.
fn quotable_path(path: &Path) -> Result<&str, UnwritablePathError> {
    let text = plain_path(path)?;
    if text.contains(['%', '"']) {
        Err(UnwritablePathError(path.to_owned()))
    } else {
        Ok(text)
    }
}

/// Writes every other character as a numeric XML reference.
fn spell_as_ascii(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            spelled.push(character);
        } else {
            _ = write!(spelled, "&#{};", u32::from(character));
        }
    }
    spelled
}

pub(super) fn install_steps(name: &str, folder: &Path) -> Vec<ServiceStep> {
    let file = folder.join(task_file_name(name)).display().to_string();
    vec![
        schtasks_step(&["/Create", "/TN", name, "/XML", &file, "/F"]),
        schtasks_step(&["/Run", "/TN", name]),
    ]
}

/// A muxd that the task has started serves on.
pub(super) fn uninstall_step(name: &str) -> ServiceStep {
    ServiceStep {
        must: false,
        ..schtasks_step(&["/Delete", "/TN", name, "/F"])
    }
}

/// Fails unless there is such a task.
pub(super) fn query_step(name: &str) -> ServiceStep {
    schtasks_step(&["/Query", "/TN", name])
}

/// Fails unless Task Scheduler answers.
pub(super) fn reachable_step() -> ServiceStep {
    schtasks_step(&["/Query", "/TN", "\\"])
}

fn schtasks_step(arguments: &[&str]) -> ServiceStep {
    ServiceStep::required_step(&[&["schtasks"], arguments].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(muxd: &str, variables: Vec<(&'static str, &str)>) -> ServiceSpec {
        ServiceSpec {
            name: "muxd".into(),
            muxd: muxd.into(),
            socket: r"\\.\pipe\mux-c--x-run-muxd".into(),
            log: r"C:\x\state\log\service.log".into(),
            home: variables.first().map(|(_, home)| home.into()),
            variables: variables
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
        }
    }

    /// The content of the first element of this name.
    fn element<'a>(task: &'a str, name: &str) -> &'a str {
        let (_, rest) = task.split_once(&format!("<{name}>")).unwrap();
        rest.split_once(&format!("</{name}>")).unwrap().0
    }

    #[test]
    fn task_starts_muxd_at_the_logon_of_one_user_and_without_a_window() {
        let task = task_text(
            &described(r"C:\Program Files\mux\muxd.exe", Vec::new()),
            r"PC\Zoë",
        )
        .unwrap();
        let trigger = element(&task, "LogonTrigger");
        assert_eq!(element(trigger, "UserId"), r"PC\Zo&#235;");
        assert_eq!(element(&task, "RunLevel"), "LeastPrivilege");
        assert_eq!(
            element(&task, "Arguments"),
            r#"--headless "C:\Program Files\mux\muxd.exe""#
        );
        assert!(task.is_ascii() && !task.contains('@'), "{task}");
    }

    #[test]
    fn command_interpreter_sets_variables() {
        let task = task_text(
            &described(r"C:\a & b\muxd.exe", vec![("MUX_HOME", r"D:\my <home>")]),
            r"PC\me",
        )
        .unwrap();
        assert_eq!(
            element(&task, "Arguments"),
            r#"--headless %SystemRoot%\System32\cmd.exe /d /s /c "set "MUX_HOME=D:\my &lt;home&gt;"&amp;&amp; "C:\a &amp; b\muxd.exe"""#
        );
        assert!(
            element(&task, "Description").ends_with(r"(MUX_HOME=D:\my &lt;home&gt;)"),
            "{task}"
        );
    }

    #[test]
    fn paths_that_would_be_expanded_are_refused() {
        for path in [r"C:\%TEMP%\x", "C:\\a\"b", "C:\\a\nb"] {
            assert!(task_text(&described(path, Vec::new()), "me").is_err());
            let set = described(r"C:\muxd.exe", vec![("MUX_HOME", path)]);
            assert!(task_text(&set, "me").is_err(), "{path}");
        }
    }

    #[test]
    fn task_is_registered_from_its_file_and_started() {
        let steps = install_steps("muxd", Path::new("x"));
        let file = Path::new("x").join("muxd.task.xml").display().to_string();
        let shown: Vec<String> = steps.iter().map(ServiceStep::command_line).collect();
        assert_eq!(
            shown,
            [
                format!("schtasks /Create /TN muxd /XML {file} /F"),
                "schtasks /Run /TN muxd".into(),
            ]
        );
        assert!(!uninstall_step("muxd").must);
    }
}
