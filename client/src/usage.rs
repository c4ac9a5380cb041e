//! Command lines that clap does not accept, and those that it answers itself: help and version.

use std::{env, process::ExitCode};

use clap::{
    ColorChoice, CommandFactory as _, ValueEnum as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{CommandSuggestion, MuxCli, suggestion_for, with_server_add_forms},
    commands, render,
};

const HELP_WORD: &str = "help";
const HELP_FLAG: &str = "--help";

/// Parses the command line of this process. The error is the exit code, after the message was printed.
pub(crate) fn parse() -> Result<MuxCli, ExitCode> {
    MuxCli::parse_words(env::args_os()).map_err(|error| {
        let words = env::args_os().skip(1);
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        render::set_color(color_in(&words));
        answer(error, &words)
    })
}

/// Prints the help of a command, which these words name.
pub(crate) fn print_help_of(command: &[String]) -> ExitCode {
    let words = [command, &[HELP_FLAG.to_owned()]].concat();
    let line = std::iter::once("mux".to_owned()).chain(words.iter().cloned());
    match MuxCli::parse_words(line) {
        Err(error) => answer(error, &words),
        // Only if an argument of the command swallows the flag.
        Ok(_) => print_help_of(&[]),
    }
}

/// Answers what clap rejects. `words`: the command line without the program's name.
fn answer(error: clap::Error, words: &[String]) -> ExitCode {
    let mut error = with_server_add_forms(error);
    // clap has not parsed the flags of a command line that it rejects.
    let said = |flag: &str| words.iter().any(|word| word == flag);
    match error.kind() {
        ErrorKind::DisplayVersion if said("--version") || said("--json") => {
            return render::version(&commands::version_report(), said("--json"));
        }
        ErrorKind::InvalidSubcommand => {
            let word = match error.get(ContextKind::InvalidSubcommand) {
                Some(ContextValue::String(word)) => word.clone(),
                _ => return render::clap_error(&error),
            };
            if word == HELP_WORD {
                // `help` after the command.
                let others = words.iter().filter(|known| **known != word);
                return print_help_of(&others.cloned().collect::<Vec<_>>());
            }
            explain_unknown_command(&mut error, parent_command(words, &word), &word);
        }
        ErrorKind::UnknownArgument if command_words(words).next() == Some("call") => {
            explain_tool_option(&mut error);
        }
        _ => {}
    }
    render::clap_error(&error)
}

/// The words that are no options.
fn command_words(words: &[String]) -> impl Iterator<Item = &str> {
    words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
}

/// The command whose subcommand `word` would be.
fn parent_command<'a>(words: &'a [String], word: &str) -> Option<&'a str> {
    let before = command_words(words)
        .take_while(|known| *known != word)
        .last();
    before.filter(|parent| MuxCli::command().find_subcommand(parent).is_some())
}

fn explain_unknown_command(error: &mut clap::Error, parent: Option<&str>, word: &str) {
    let tip = match suggestion_for(parent, word) {
        // By similar letters.
        None => return,
        Some(CommandSuggestion::Update) => commands::update_advice(),
        Some(CommandSuggestion::Commands(commands)) => {
            let named = commands.iter().map(|command| format!("`mux {command}`"));
            format!("did you mean {}?", named.collect::<Vec<_>>().join(" or "))
        }
    };
    error.remove(ContextKind::SuggestedSubcommand);
    set_tip(error, tip);
}

/// An option that is an argument of a tool: `--path x`.
fn explain_tool_option(error: &mut clap::Error) {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    if error.get(ContextKind::SuggestedArg).is_some() {
        return;
    }
    let name = option.trim_start_matches('-');
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    let tip = format!("an argument of a tool has no dashes: `{name}=VALUE`");
    set_tip(error, tip);
}

fn set_tip(error: &mut clap::Error, tip: String) {
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
}

/// The value of `--color`.
fn color_in(words: &[String]) -> ColorChoice {
    const FLAG: &str = "--color";
    let value = words
        .iter()
        .enumerate()
        .find_map(|(at, word)| match word.strip_prefix(FLAG)? {
            "" => words.get(at + 1).map(String::as_str),
            value => value.strip_prefix('='),
        });
    value
        .and_then(|value| ColorChoice::from_str(value, false).ok())
        .unwrap_or(ColorChoice::Auto)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// The text of the error for a command line, with our tips.
    fn answer_text(line: &str) -> String {
        let all = words(&format!("mux {line}"));
        let mut error = MuxCli::parse_words(&all).unwrap_err();
        let words = &all[1..];
        match error.get(ContextKind::InvalidSubcommand).cloned() {
            Some(ContextValue::String(word)) => {
                explain_unknown_command(&mut error, parent_command(words, &word), &word);
            }
            _ => explain_tool_option(&mut error),
        }
        error.to_string()
    }

    #[test]
    fn unknown_command_has_tips_by_meaning_then_by_letters() {
        for (line, tip) in [
            ("kill", "did you mean `mux runs cancel` or `mux stop`?"),
            (
                "-v --color never kill 12",
                "did you mean `mux runs cancel` or `mux stop`?",
            ),
            ("servers rm files", "did you mean `mux servers remove`?"),
            ("config --json ls", "did you mean `mux config show`?"),
            ("toools", "a similar subcommand exists: 'tools'"),
            ("update", "mux restart --upgrade"),
            ("call a.b --path x", "`path=VALUE`"),
            ("call a.b --timeuot 3", "'--timeout'"),
        ] {
            let answer_text = answer_text(line);
            assert!(answer_text.contains(tip), "{line}: {answer_text}");
        }
        assert!(!answer_text("update").contains("audit"));
    }

    #[test]
    fn color_is_read_from_a_rejected_command_line() {
        for (line, color) in [
            ("frobnicate --color never", ColorChoice::Never),
            ("--color=always frobnicate", ColorChoice::Always),
            ("--color", ColorChoice::Auto),
            ("--color sometimes", ColorChoice::Auto),
            ("frobnicate", ColorChoice::Auto),
        ] {
            assert_eq!(color_in(&words(line)), color, "{line}");
        }
    }
}
