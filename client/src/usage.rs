//! Command lines that clap does not accept, and command lines that it answers itself: help and version.

use std::{env, process::ExitCode};

use clap::{
    Arg, ColorChoice, CommandFactory as _, ValueEnum as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    args::{CommandSuggestion, MuxCli, SERVER_ADD_FORMS, suggestion_for},
    commands, render,
};

const HELP_WORD: &str = "help";
const HELP_FLAG: &str = "--help";

/// Parses the command line of this process. The error is the exit code, after the message was printed.
pub(crate) fn parse() -> Result<MuxCli, ExitCode> {
    MuxCli::parse_words(env::args_os()).or_else(|error| {
        let words = env::args_os().skip(1);
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let error = match entry_named_in(&error, &words) {
            Some(Ok(shown)) => return Ok(shown),
            // The word is an entry whose other words are wrong, or it is a mistyped command.
            Some(Err(of_entry)) if error.get(ContextKind::SuggestedSubcommand).is_none() => {
                of_entry
            }
            Some(Err(_)) | None => error,
        };
        render::set_color(color_in(&words));
        Err(answer(error, &words))
    })
}

/// `mux servers NAME` is `mux servers list NAME`, and `mux runs 3` is `mux runs show 3`, if the word does not stand for
/// another command.
fn entry_named_in(error: &clap::Error, words: &[String]) -> Option<Result<MuxCli, clap::Error>> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let path = command_path(words);
    let [parent] = path.as_slice() else {
        return None;
    };
    let command = match parent.as_str() {
        "servers" => "list",
        "runs" if render::run_number(name).bytes().all(|c| c.is_ascii_digit()) => "show",
        _ => return None,
    };
    if name == HELP_WORD || suggestion_for(Some(parent), name).is_some() {
        return None;
    }
    let at = words.iter().position(|word| word == parent)? + 1;
    let line = [
        &["mux".to_owned()],
        &words[..at],
        &[command.to_owned()],
        &words[at..],
    ]
    .concat();
    Some(MuxCli::parse_words(line))
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

/// Answers command lines that clap rejects. `words` is the command line without the program's name.
fn answer(mut error: clap::Error, words: &[String]) -> ExitCode {
    // clap has not parsed the flags of a command line that it rejects.
    let has_word = |flag: &str| words.iter().any(|word| word == flag);
    match error.kind() {
        ErrorKind::DisplayVersion if has_word("--version") || has_word("--json") => {
            return render::show(
                &commands::version_report(),
                has_word("--json"),
                render::version,
            );
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
            explain_unknown_command(&mut error, words, &word);
        }
        ErrorKind::UnknownArgument => explain_unknown_argument(&mut error, words),
        _ => {}
    }
    render::clap_error(&error)
}

/// The names of the command that these words name, and of its parent commands. Options and their values are skipped.
fn command_path(words: &[String]) -> Vec<String> {
    let root = MuxCli::command();
    let mut command = &root;
    let mut path = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            // Global options are declared at the root.
            let mut options = command.get_arguments().chain(root.get_arguments());
            if options.any(|option| takes_next_word(option, word)) {
                words.next();
            }
        } else if let Some(found) = command.find_subcommand(word) {
            path.push(found.get_name().to_owned());
            command = found;
        } else {
            break;
        }
    }
    path
}

/// Returns true if `word` is this option without its value, which follows.
fn takes_next_word(option: &Arg, word: &str) -> bool {
    let is_named = match word.strip_prefix("--") {
        Some(name) => option.get_long() == Some(name),
        None => option
            .get_short()
            .is_some_and(|letter| word[1..] == letter.to_string()),
    };
    is_named && option.get_action().takes_values()
}

fn explain_unknown_command(error: &mut clap::Error, words: &[String], word: &str) {
    let parent = command_path(words).join(" ");
    let parent = Some(parent.as_str()).filter(|parent| !parent.is_empty());
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

fn explain_unknown_argument(error: &mut clap::Error, words: &[String]) {
    let path = command_path(words);
    match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["call"] => explain_tool_option(error),
        ["servers", "add"] | ["add"] => explain_server_command(error),
        _ => {}
    }
}

/// The command of a server that does not follow `--`.
fn explain_server_command(error: &mut clap::Error) {
    let argument = error.get(ContextKind::InvalidArg);
    if matches!(argument, Some(ContextValue::String(word)) if !word.starts_with('-')) {
        set_tip(error, SERVER_ADD_FORMS.to_owned());
    }
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
    let tip = format!("tool arguments have no dashes: `{name}=VALUE`");
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

    /// The error for a command line, with our tips.
    fn answer_text(line: &str) -> String {
        let all = words(&format!("mux {line}"));
        let mut error = MuxCli::parse_words(&all).unwrap_err();
        let words = &all[1..];
        match error.get(ContextKind::InvalidSubcommand).cloned() {
            Some(ContextValue::String(word)) => {
                explain_unknown_command(&mut error, words, &word);
            }
            _ => explain_unknown_argument(&mut error, words),
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
            (
                "servers --color never rm x",
                "did you mean `mux servers remove`?",
            ),
            ("config --json ls", "did you mean `mux config show`?"),
            ("toools", "a similar subcommand exists: 'tools'"),
            ("update", "mux restart --upgrade"),
            ("call a.b --path x", "`path=VALUE`"),
            ("call a.b --timeuot 3", "'--timeout'"),
            ("--color never call a.b --path x", "`path=VALUE`"),
            ("servers add x npx -y pkg", SERVER_ADD_FORMS),
            ("servers add x --share user npx", SERVER_ADD_FORMS),
            ("--color never add x npx", SERVER_ADD_FORMS),
        ] {
            let answer_text = answer_text(line);
            assert!(answer_text.contains(tip), "{line}: {answer_text}");
        }
        assert!(!answer_text("update").contains("audit"));
        for line in [
            "servers add x --rplace",
            "servers remove x y",
            "runs --path x",
        ] {
            let answer_text = answer_text(line);
            assert!(!answer_text.contains(SERVER_ADD_FORMS), "{answer_text}");
            assert!(!answer_text.contains("`path=VALUE`"), "{answer_text}");
        }
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
