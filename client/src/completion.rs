//! Shell completion of command lines, with server, tool, argument, run and approval names.
//!
//! The script that `mux completions` prints calls `mux` with [`variables::COMPLETE`] set and the words so far.
//!
//! Invariants:
//!
//! - Completion starts no daemon and no server, and waits 100 ms for a running daemon at most.
//! - Names that a shell would interpret are not offered: the shell inserts a candidate unchanged.

mod cache;
mod candidates;
mod signature;

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
};

use clap::{Command, CommandFactory as _};
use clap_complete::{
    Shell,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::{EnvCompleter, Shells},
};
use mux_proto::{endpoint::Dirs, variables};

pub(crate) use self::cache::{remember_found, remember_list};
use self::candidates::{CandidateFinder, NameCandidate};
use crate::{args::MuxCli, process_environment, render};

/// The longest explanation beside a candidate, in characters.
const MAX_HELP_CHARS: usize = 80;

/// The kind of names that an argument takes.
#[derive(Clone, Copy, Debug)]
enum CompletedName {
    Server,
    Source,
    Tool,
    ServerOrTool,
    /// An argument of the tool that the command line names.
    ToolArgument,
    Run,
    /// A run that has not ended.
    ActiveRun,
    Approval,
    ApprovalOrRun,
    Grant,
    Secret,
}

/// The arguments whose values are names: the subcommands, the argument, and the kind of name.
const COMPLETED: &[(&[&str], &str, CompletedName)] = &[
    (&["approvals"], "approval", CompletedName::Approval),
    (&["approvals", "revoke"], "grant", CompletedName::Grant),
    (&["approve"], "approvals", CompletedName::Approval),
    (&["audit"], "run", CompletedName::Run),
    (&["audit"], "tool", CompletedName::Tool),
    (&["call"], "arguments", CompletedName::ToolArgument),
    (&["call"], "path", CompletedName::Tool),
    (&["deny"], "approvals", CompletedName::Approval),
    (&["login"], "server", CompletedName::Server),
    (&["logs"], "run", CompletedName::Run),
    (&["logs"], "servers", CompletedName::Server),
    (&["mcp"], "passthrough", CompletedName::Server),
    (&["policy", "add"], "path", CompletedName::Tool),
    (
        &["policy", "explain"],
        "arguments",
        CompletedName::ToolArgument,
    ),
    (&["policy", "explain"], "path", CompletedName::Tool),
    (
        &["policy", "test"],
        "arguments",
        CompletedName::ToolArgument,
    ),
    (&["policy", "test"], "path", CompletedName::Tool),
    (&["resume"], "id", CompletedName::ApprovalOrRun),
    (&["runs", "cancel"], "runs", CompletedName::ActiveRun),
    (&["runs", "show"], "run", CompletedName::Run),
    (&["runs", "watch"], "run", CompletedName::Run),
    (&["secrets", "remove"], "name", CompletedName::Secret),
    (&["servers", "accept"], "server", CompletedName::Server),
    (&["servers", "disable"], "name", CompletedName::Server),
    (&["servers", "enable"], "name", CompletedName::Server),
    (&["servers", "list"], "server", CompletedName::Server),
    (&["servers", "login"], "server", CompletedName::Server),
    (&["servers", "logout"], "server", CompletedName::Server),
    (&["servers", "logs"], "server", CompletedName::Server),
    (&["servers", "pins"], "server", CompletedName::Server),
    (&["servers", "remove"], "name", CompletedName::Server),
    (&["servers", "restart"], "server", CompletedName::Server),
    (&["sources", "refresh"], "source", CompletedName::Source),
    (&["sources", "remove"], "name", CompletedName::Source),
    (&["tools"], "query", CompletedName::ServerOrTool),
    (&["tools"], "server", CompletedName::Server),
    (&["types"], "paths", CompletedName::ServerOrTool),
];

/// The script with which a shell completes `mux`.
pub(crate) fn registration_script(shell: Shell) -> String {
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(&shell.to_string()) {
        // Writing to memory cannot fail.
        drop(completer.write_registration(variables::COMPLETE, "mux", "mux", "mux", &mut script));
    }
    let mut script = String::from_utf8_lossy(&script).trim().to_owned();
    if shell == Shell::Zsh {
        // Installed as the function `_mux`, the script runs when the first completion is asked for.
        script.push_str(
            "\n\nif [ \"$funcstack[1]\" = _mux ]; then\n    _clap_dynamic_completer_mux \"$@\"\nfi",
        );
    }
    script.push('\n');
    script
}

/// The candidates that a completion script asks for, or `None` if this is any other command line.
pub(crate) fn answer() -> Option<String> {
    let shell = process_environment::env_path(variables::COMPLETE)?;
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "--" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let shells = Shells::builtins();
    let completer = shells.completer(shell.to_str()?)?;
    let dirs = process_environment::resolve_dirs().ok();
    Some(write_candidates(completer, words, dirs))
}

fn write_candidates(
    completer: &dyn EnvCompleter,
    words: Vec<OsString>,
    dirs: Option<Dirs>,
) -> String {
    let typed = words.iter().map(|word| word.to_string_lossy().into_owned());
    let candidates = CandidateFinder::new(typed.collect(), dirs);
    let mut command = completed_command(&Arc::new(candidates));
    let mut output = Vec::new();
    let workspace = process_environment::client_identity().workspace;
    // Without a word to complete there are no candidates.
    drop(completer.write_complete(&mut command, words, workspace.as_deref(), &mut output));
    String::from_utf8_lossy(&output).into_owned()
}

/// The command line with a completer at each argument of [`COMPLETED`].
fn completed_command(candidates: &Arc<CandidateFinder>) -> Command {
    COMPLETED
        .iter()
        .fold(MuxCli::command(), |command, (path, argument, name)| {
            let candidates = Arc::clone(candidates);
            let name = *name;
            let complete = move |current: &OsStr| {
                let current = current.to_string_lossy();
                let found = candidates.named(name, &current).into_iter();
                let found = found.filter(|found| {
                    found.value.starts_with(&*current) && is_plain_word(&found.value)
                });
                found.map(shell_candidate).collect()
            };
            with_completer(command, path, argument, &ArgValueCompleter::new(complete))
        })
}

fn with_completer(
    command: Command,
    path: &[&'static str],
    argument: &'static str,
    completer: &ArgValueCompleter,
) -> Command {
    // `mut_arg` and `mut_subcommand` would change the order.
    match path {
        [] => command.mut_args(|found| {
            if found.get_id() == argument {
                found.add(completer.clone())
            } else {
                found
            }
        }),
        [first, rest @ ..] => command.mut_subcommands(|inner| {
            if inner.get_name() == *first {
                with_completer(inner, rest, argument, completer)
            } else {
                inner
            }
        }),
    }
}

fn shell_candidate(found: NameCandidate) -> CompletionCandidate {
    let help = found
        .help
        .map(|help| render::short_line(&help, MAX_HELP_CHARS))
        .filter(|help| !help.is_empty());
    CompletionCandidate::new(found.value).help(help.map(Into::into))
}

/// Returns true if a shell takes the word unchanged.
fn is_plain_word(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:=@+".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use clap_complete::env::Fish;
    use mux_proto::{ToolInfo, ToolList};

    use super::*;

    /// The candidates for the last word, without options and descriptions, in a home without a daemon.
    fn completed(dirs: &Dirs, words: &[&str]) -> Vec<String> {
        let words = ["mux"].iter().chain(words).map(OsString::from).collect();
        let output = write_candidates(&Fish, words, Some(dirs.clone()));
        let values = output.lines().filter_map(|line| line.split('\t').next());
        let values = values.filter(|value| !value.starts_with('-'));
        values.map(str::to_owned).collect()
    }

    #[test]
    fn servers_tools_and_arguments_are_completed_without_a_daemon() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        std::fs::create_dir(&dirs.cache).unwrap();
        let config = "[servers.files]\ncommand = \"f\"\n[servers.my-git]\ncommand = \"g\"\n\
                      [sources.pets]\nopenapi = \"p.json\"\n";
        std::fs::write(dirs.config_file(), config).unwrap();
        let tool = |path: &str, arguments: &str| ToolInfo {
            path: path.into(),
            server: path.split('.').next().unwrap().into(),
            signature: format!("{path}(args: {{ {arguments} }})"),
            description: Some("One\u{1b}[2J line\nand another".into()),
            ..ToolInfo::default()
        };
        let tools = vec![
            tool("files.list_directory", "path: string"),
            tool("files.read_text_file", "path: string; head?: number"),
            tool("files.$(reboot)", "path: string"),
            tool("pets.get", "id: string"),
        ];
        let total = tools.len();
        let list = ToolList {
            tools,
            total,
            missing: Vec::new(),
            warnings: Vec::new(),
            remembered: Vec::new(),
            instructions: Vec::new(),
            fence: None,
        };
        remember_list(&dirs, &list, None);
        for (words, expected) in [
            (&["sta"][..], &["status"][..]),
            (&["call", "files.r"], &["files.read_text_file"]),
            (
                &["call", "f"],
                &["files.list_directory", "files.read_text_file"],
            ),
            (&["call", "files.read_text_file", ""], &["path=", "head="]),
            (
                &["--json", "call", "files.read_text_file", "path=/", "h"],
                &["head="],
            ),
            (&["call", "files.read_text_file", "path", "=", ""], &[]),
            (&["call", "files.read_text_file", "path=/"], &[]),
            (&["policy", "explain", "pets.get", ""], &["id="]),
            (&["policy", "test", "pets.get", ""], &["id="]),
            (&["policy", "add", "pets.g"], &["pets.get"]),
            (&["login", "my"], &["my-git"]),
            (&["servers", "restart", ""], &["files", "my-git", "pets"]),
            (&["servers", "logs", "my"], &["my-git"]),
            (&["sources", "refresh", ""], &["pets"]),
            (&["tools", "p"], &["pets", "pets.get"]),
            (&["tools", "--server", "my"], &["my-git"]),
            (&["runs", "show", ""], &[]),
            (&["approve", ""], &[]),
        ] {
            assert_eq!(completed(&dirs, words), expected, "{words:?}");
        }
        let words = ["mux", "call", "files.r"].map(OsString::from).to_vec();
        let helped = write_candidates(&Fish, words, Some(dirs.clone()));
        assert_eq!(helped, "files.read_text_file\tOne [2J line\n");
        assert!(!dirs.state.exists() && !dirs.runtime.exists());
    }

    #[test]
    fn every_completed_argument_exists() {
        let command = completed_command(&Arc::default());
        for (path, argument, _) in COMPLETED {
            let found = path.iter().try_fold(&command, |command, name| {
                let mut inner = command.get_subcommands();
                inner.find(|inner| inner.get_name() == *name)
            });
            let mut arguments = found.into_iter().flat_map(Command::get_arguments);
            let has_completer = arguments.any(|found| {
                found.get_id() == argument && found.get::<ArgValueCompleter>().is_some()
            });
            assert!(has_completer, "{path:?} {argument}");
        }
        command.debug_assert();
    }

    #[test]
    fn script_of_each_shell_asks_mux_for_candidates() {
        for shell in [
            Shell::Bash,
            Shell::Elvish,
            Shell::Fish,
            Shell::PowerShell,
            Shell::Zsh,
        ] {
            let script = registration_script(shell);
            assert!(script.contains(variables::COMPLETE), "{shell}: {script}");
            assert!(script.ends_with('\n') && script.contains("mux"), "{shell}");
        }
    }

    #[test]
    fn words_that_a_shell_interprets_are_not_offered() {
        for (word, plain) in [
            ("files.read_text_file", true),
            ("path=", true),
            ("my-server", true),
            ("", false),
            ("a b", false),
            ("$(reboot)", false),
            ("a;b", false),
            ("a\u{1b}[2J", false),
            ("größe", false),
        ] {
            assert_eq!(is_plain_word(word), plain, "{word:?}");
        }
    }
}
