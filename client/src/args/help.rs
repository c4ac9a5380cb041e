//! The help of `mux` itself: commands by purpose, on one screen.

use clap::{
    Args as ClapArgs,
    builder::{StyledStr, Styles},
};

#[derive(Debug, ClapArgs)]
pub(crate) struct HelpArgs {
    /// List all commands
    #[arg(long, conflicts_with = "commands")]
    pub(crate) all: bool,
    /// The command to explain
    #[arg(value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
}

const ABOUT: &str = "Call the tools of all your MCP servers, one by one or with one typed program.";
/// The commands that most users need.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Get started",
        &["init", "import", "install", "doctor", "ui"],
    ),
    ("Run", &["run", "call", "check", "program", "replay"]),
    (
        "Inspect",
        &[
            "tools",
            "types",
            "resources",
            "prompts",
            "runs",
            "logs",
            "top",
            "audit",
        ],
    ),
    (
        "Servers",
        &["servers", "sources", "secrets", "project", "config"],
    ),
    (
        "Rules",
        &["policy", "approvals", "approve", "deny", "resume"],
    ),
    ("Daemon", &["status", "stop", "restart"]),
];
const EXAMPLES: [(&str, &str); 3] = [
    ("mux tools read file", "search the tools of all servers"),
    (
        "mux call files.list_directory path=/srv",
        "call one of them",
    ),
    (
        "mux run -e 'return Object.keys(mux)'",
        "run a TypeScript program",
    ),
];
const OPTIONS: [(&str, &str); 5] = [
    ("--json", "Print one JSON document"),
    ("-q, --quiet", "Print only results and errors"),
    ("-v, --verbose", "Print more; can be repeated"),
    ("--color WHEN", "auto, always or never"),
    ("-V, --version", "Print the version"),
];
const MORE: &str = "`mux COMMAND --help` explains a command; `mux help --all` lists them all.";

/// The help of `mux`, which fits on a terminal of 80 columns and 24 lines with one line more.
pub(crate) fn grouped_help() -> StyledStr {
    let styles = Styles::styled();
    let header = styles.get_header();
    let literal = styles.get_literal();
    let title = |text: &str| format!("{header}{text}:{header:#}");
    let row = |name: &str, width: usize, text: &str| {
        format!("  {literal}{name:width$}{literal:#}  {text}")
    };
    let mut lines = vec![
        ABOUT.to_owned(),
        format!(
            "{} {literal}mux{literal:#} [OPTIONS] COMMAND",
            title("Usage")
        ),
        String::new(),
    ];
    for (purpose, commands) in GROUPS {
        let gap = " ".repeat(GROUP_WIDTH - purpose.len());
        let commands: Vec<_> = commands
            .iter()
            .map(|command| format!("{literal}{command}{literal:#}"))
            .collect();
        lines.push(format!("{}{gap}{}", title(purpose), commands.join(", ")));
    }
    lines.extend([String::new(), title("Examples")]);
    lines.extend(EXAMPLES.map(|(example, text)| row(example, 39, text)));
    lines.extend([String::new(), title("Options")]);
    lines.extend(OPTIONS.map(|(option, text)| row(option, 13, text)));
    lines.extend([String::new(), MORE.to_owned()]);
    StyledStr::from(lines.join("\n"))
}

/// The width of the column with the purposes.
const GROUP_WIDTH: usize = 13;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::{super::MuxCli, *};

    #[test]
    fn help_names_commands_that_exist_and_options_of_mux() {
        let mux = MuxCli::command();
        let mut named = BTreeSet::new();
        let mut missing = Vec::new();
        for name in GROUPS.iter().flat_map(|(_, commands)| *commands) {
            assert!(named.insert(name), "{name} is named twice");
            match mux.find_subcommand(name) {
                Some(command) if command.get_name() == *name && !command.is_hide_set() => {}
                _ => missing.push(*name),
            }
        }
        for (option, _) in OPTIONS {
            let long = option
                .split_whitespace()
                .find_map(|word| word.strip_prefix("--"));
            let known = mux.get_arguments().any(|arg| arg.get_long() == long);
            assert!(known || long == Some("version"), "{option}");
        }
        for (example, _) in EXAMPLES {
            let words = example.split(['\'']).flat_map(str::split_whitespace);
            assert!(named.contains(&words.clone().nth(1).unwrap()), "{example}");
        }
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn help_fits_on_a_screen() {
        let help = grouped_help();
        let text = anstream::adapter::strip_str(&help.ansi().to_string()).to_string();
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
