//! Yes-or-no prompts.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::render;

/// The answer that an empty line gives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DefaultAnswer {
    Yes,
    No,
}

/// Asks the user at the terminal. Without a terminal, and at the end of input, the answer is no.
pub(super) fn confirm(question: &str, default: DefaultAnswer) -> bool {
    if !can_ask() {
        return false;
    }
    render::ask_to_confirm(question, default == DefaultAnswer::Yes);
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    matches!(read, Ok(1..)) && is_yes(&line, default)
}

/// Returns true if there is a terminal for the question and for the answer.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn is_yes(line: &str, default: DefaultAnswer) -> bool {
    match line.trim().to_lowercase().as_str() {
        "" => default == DefaultAnswer::Yes,
        word => matches!(word, "y" | "yes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_line_takes_the_default() {
        for (line, default, expected) in [
            ("\n", DefaultAnswer::Yes, true),
            ("\n", DefaultAnswer::No, false),
            (" Yes \r\n", DefaultAnswer::No, true),
            ("Y\n", DefaultAnswer::No, true),
            ("n\n", DefaultAnswer::Yes, false),
            ("yess\n", DefaultAnswer::Yes, false),
        ] {
            assert_eq!(is_yes(line, default), expected, "{line:?}");
        }
    }
}
