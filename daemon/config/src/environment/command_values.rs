//! `${cmd:…}`: values printed by a command, for example a password manager.
//!
//! Invariant: the output of a command is a secret that appears in no error, log or message. An error names only the
//! first word of a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use mux_secrets::Secret;

use super::{Environment, system::shell_command};
use crate::EntryError;
use mux_keeper::{ChildExit, SpawnSpec, TreeLimits};

/// The time limit of a command.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum output of a command.
pub const MAX_COMMAND_OUTPUT_BYTES: usize = 64 << 10;
/// The maximum number of commands that run at the same time.
const MAX_CONCURRENT_COMMANDS: usize = 8;

/// The output of a command and its exit status.
#[derive(Debug)]
pub struct CommandOutput {
    pub printed: Vec<u8>,
    pub exit: ChildExit,
}

/// The value of a command, or why there is none.
pub(super) type CommandValue = Result<Secret, EntryError>;

/// The values of all commands in the configuration.
#[derive(Debug, Default)]
pub struct CommandValues {
    known: BTreeMap<String, CommandValue>,
}

impl CommandValues {
    /// Runs the `wanted` commands and puts their values into the environment. Known values are reused, unless `anew` is
    /// set. The values of other commands are dropped.
    pub async fn answer<F: Future<Output = Result<CommandOutput, String>> + Send>(
        &mut self,
        wanted: BTreeSet<String>,
        environment: &mut Environment,
        (home, anew): (&Path, bool),
        run: impl Fn(SpawnSpec) -> F,
    ) {
        self.known
            .retain(|command, _| !anew && wanted.contains(command));
        let missing: Vec<String> = wanted
            .into_iter()
            .filter(|command| !self.known.contains_key(command))
            .collect();
        let asked: Vec<_> = missing
            .into_iter()
            .map(|command| {
                let output = run(question(&command, environment, home));
                async move {
                    let answer = value(&command, output.await);
                    (command, answer)
                }
            })
            .collect();
        let answers: Vec<_> = stream::iter(asked)
            .buffered(MAX_CONCURRENT_COMMANDS)
            .collect()
            .await;
        self.known.extend(answers);
        environment.commands.clone_from(&self.known);
    }
}

/// The shell that runs a command, with the environment of the user's terminal.
fn question(command: &str, environment: &Environment, home: &Path) -> SpawnSpec {
    let (program, args) = shell_command(command);
    SpawnSpec {
        program: program.into(),
        args,
        env: environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: home.to_owned(),
        tag: "config-command".into(),
        limits: TreeLimits::default(),
    }
}

fn value(command: &str, output: Result<CommandOutput, String>) -> CommandValue {
    let first = command.split_whitespace().next().unwrap_or_default();
    let failed = |why: String| EntryError::Invalid(format!("`${{cmd:{first} …}}` failed: {why}"));
    let output = output.map_err(failed)?;
    if output.exit.code != Some(0) {
        return Err(failed(output.exit.to_string()));
    }
    let text =
        String::from_utf8(output.printed).map_err(|_| failed("its output is not UTF-8".into()))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text {
        "" => Err(failed("its output is empty".into())),
        text if text.contains('\0') => Err(failed("its output has a NUL byte".into())),
        text => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the answer of a command that ran")]
    fn output_of(text: &str, code: i32) -> Result<CommandOutput, String> {
        Ok(CommandOutput {
            printed: text.into(),
            exit: ChildExit {
                exceeded: None,
                code: Some(code),
                signal: None,
            },
        })
    }

    fn wanted(commands: &[&str]) -> BTreeSet<String> {
        commands.iter().map(|text| (*text).to_owned()).collect()
    }

    #[tokio::test]
    async fn command_runs_once_and_again_only_on_request() {
        let asked = RefCell::new(Vec::new());
        let run = |spec: SpawnSpec| {
            let command = spec.args.last().unwrap().clone().into_string().unwrap();
            asked.borrow_mut().push(command.clone());
            std::future::ready(match command.as_str() {
                "bad key" => output_of("s3cret", 4),
                _ => output_of(&format!("{command}!\n"), 0),
            })
        };
        let mut commands = CommandValues::default();
        let mut environment = Environment::default();
        let home = Path::new("/");
        let both = || wanted(&["good", "bad key"]);
        commands
            .answer(both(), &mut environment, (home, false), run)
            .await;
        assert_eq!(environment.expand("<${cmd:good}>").unwrap(), "<good!>");
        let problem = environment
            .expand("${cmd:bad key}")
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("`${cmd:bad …}`") && problem.contains("exit code 4"),
            "{problem}"
        );
        assert!(!problem.contains("key") && !problem.contains("s3cret"));
        assert_eq!(asked.borrow().len(), 2);
        commands
            .answer(both(), &mut environment, (home, false), run)
            .await;
        assert_eq!(asked.borrow().len(), 2);
        commands
            .answer(both(), &mut environment, (home, true), run)
            .await;
        assert_eq!(asked.borrow().len(), 4);
        commands
            .answer(wanted(&["other"]), &mut environment, (home, false), run)
            .await;
        assert!(environment.expand("${cmd:good}").is_err(), "forgotten");
    }

    #[test]
    fn only_the_last_line_ending_is_removed() {
        assert_eq!(value("x", output_of("a \n\n", 0)).unwrap(), "a \n".into());
        assert_eq!(value("x", output_of("a\r\n", 0)).unwrap(), "a".into());
        for text in ["", "\n", "a\0b"] {
            assert!(value("x", output_of(text, 0)).is_err(), "{text:?}");
        }
    }
}
