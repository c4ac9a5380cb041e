//! Runs the service manager's command, `systemctl` or `launchctl`.

use std::{io, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

/// Ending a daemon takes up to a minute.
const SERVICE_STEP_TIMEOUT: Duration = Duration::from_secs(90);

#[derive(Debug, thiserror::Error)]
pub(super) enum ServiceCommandError {
    #[error("{0} was not found")]
    Missing(String),
    #[error("{0} did not finish within {SERVICE_STEP_TIMEOUT:?}")]
    Slow(String),
    #[error("cannot run {0}: {1}")]
    Io(String, io::Error),
    #[error("{0} failed: {1}")]
    Failed(String, String),
}

/// One command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServiceStep {
    pub(super) line: Vec<String>,
    /// If it fails, the remaining steps are not run.
    pub(super) must: bool,
}

impl ServiceStep {
    pub(super) fn required_step(line: &[&str]) -> Self {
        let line = line.iter().map(|word| (*word).to_owned()).collect();
        Self { line, must: true }
    }

    /// A step that may fail, because it may be unnecessary.
    pub(super) fn optional_step(line: &[&str]) -> Self {
        Self {
            must: false,
            ..Self::required_step(line)
        }
    }

    pub(super) fn command_line(&self) -> String {
        self.line.join(" ")
    }

    /// Runs the command, and returns its output if it succeeds.
    pub(super) async fn run_command(&self) -> Result<String, ServiceCommandError> {
        let shown = self.command_line();
        let (program, arguments) = self
            .line
            .split_first()
            .map_or(("", &[][..]), |(p, a)| (p, a));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = match timeout(SERVICE_STEP_TIMEOUT, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ServiceCommandError::Missing(program.to_owned()));
            }
            Ok(Err(error)) => return Err(ServiceCommandError::Io(shown, error)),
            Err(_) => return Err(ServiceCommandError::Slow(shown)),
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let stderr = if stderr.is_empty() {
            output.status.to_string()
        } else {
            stderr
        };
        Err(ServiceCommandError::Failed(shown, stderr))
    }
}
