//! Commands for words that are no command here, but mean one. clap itself suggests names with similar letters.

/// What to use instead of an unknown command.
#[derive(Debug, PartialEq)]
pub(crate) enum CommandSuggestion {
    /// One of these command lines.
    Commands(&'static [&'static str]),
    /// There is no such command; mux is updated by what installed it.
    Update,
}

/// Words for commands, and the commands. A word of a command with subcommands has that command before it.
const MEANINGS: &[(&[&str], &[&str])] = &[
    (&["list", "find", "show", "describe"], &["tools", "servers"]),
    (
        &["exec", "execute", "eval", "repl", "shell", "script"],
        &["run -e CODE"],
    ),
    (&["invoke", "request", "curl"], &["call"]),
    (&["resource", "read"], &["resources", "runs read"]),
    (&["prompt"], &["prompts"]),
    (&["server"], &["servers"]),
    (&["tool"], &["tools"]),
    (&["test", "lint", "validate", "typecheck"], &["check"]),
    (&["kill", "cancel", "abort"], &["runs cancel", "stop"]),
    (
        &["wait", "attach", "follow"],
        &["runs watch", "logs --follow"],
    ),
    (&["history", "events"], &["audit", "runs"]),
    (&["rerun", "retry", "repeat"], &["replay", "run"]),
    (&["continue"], &["resume"]),
    (&["stats", "monitor", "dashboard"], &["top", "ui"]),
    (
        &[
            "web",
            "gui",
            "open",
            "browser",
            "page",
            "inspect",
            "inspector",
        ],
        &["ui"],
    ),
    (
        &["start", "up", "daemon"],
        &["status", "restart", "service install"],
    ),
    (&["down", "shutdown", "quit", "exit"], &["stop"]),
    (&["serve", "proxy", "gateway"], &["mcp", "ui"]),
    (
        &["connect", "new", "create", "register"],
        &["servers add", "install"],
    ),
    (&["remove", "rm", "delete"], &["servers remove"]),
    (&["uninstall"], &["install --undo", "servers remove"]),
    (&["enable"], &["servers enable"]),
    (&["disable"], &["servers disable"]),
    (&["logout", "signout"], &["servers logout"]),
    (&["auth", "signin"], &["servers login", "secrets"]),
    (
        &["env", "keys", "keyring", "credentials", "token"],
        &["secrets"],
    ),
    (&["allow", "accept"], &["approve", "servers accept"]),
    (&["reject", "block"], &["deny"]),
    (&["rules", "permissions"], &["policy"]),
    (&["settings", "configure"], &["config show", "config edit"]),
    (&["api", "openapi", "graphql"], &["sources add"]),
    (&["diagnose", "debug", "health"], &["doctor"]),
    (&["config list", "config ls"], &["config show"]),
    (
        &["policy set", "policy edit"],
        &["policy add", "config edit"],
    ),
    (&["runs ls", "runs ps"], &["runs list"]),
    (&["runs kill", "runs stop", "runs abort"], &["runs cancel"]),
    (
        &["runs get", "runs logs", "runs info"],
        &["runs show", "logs --run RUN"],
    ),
    (&["secrets add", "secrets put"], &["secrets set"]),
    (&["secrets rm", "secrets delete"], &["secrets remove"]),
    (&["servers ls", "servers status"], &["servers list"]),
    (
        &["servers new", "servers create", "servers install"],
        &["servers add"],
    ),
    (
        &["servers rm", "servers delete", "servers uninstall"],
        &["servers remove"],
    ),
    (
        &["servers start", "servers reload"],
        &["servers restart", "reload"],
    ),
    (&["servers stop"], &["servers disable"]),
    (&["servers auth", "servers signin"], &["servers login"]),
    (&["servers tools"], &["tools --server SERVER"]),
];

/// The suggestion for an unknown `word`, which follows the command `parent`, if any.
pub(crate) fn suggestion_for(parent: Option<&str>, word: &str) -> Option<CommandSuggestion> {
    let typed = match parent {
        Some(parent) => format!("{parent} {word}"),
        None => word.to_owned(),
    };
    if ["update", "upgrade", "self-update", "self"].contains(&&*typed) {
        return Some(CommandSuggestion::Update);
    }
    let meaning = MEANINGS.iter().find(|(words, _)| words.contains(&&*typed));
    meaning.map(|(_, commands)| CommandSuggestion::Commands(commands))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{super::MuxCli, *};

    /// The command that these words name, up to an option or a placeholder.
    fn exists(line: &str) -> bool {
        let mut command = &MuxCli::command();
        let names = line
            .split(' ')
            .take_while(|word| !word.starts_with('-') && word.chars().all(char::is_lowercase));
        for name in names {
            match command.find_subcommand(name) {
                Some(found) => command = found,
                None => return false,
            }
        }
        true
    }

    #[test]
    fn suggested_commands_exist_and_words_have_one_meaning() {
        let mut all = std::collections::BTreeSet::new();
        for (words, commands) in MEANINGS {
            for word in *words {
                assert!(all.insert(word), "{word}");
            }
            for command in *commands {
                assert!(exists(command), "{command}");
            }
        }
    }

    #[test]
    fn words_are_looked_up_below_their_command() {
        let commands = |parent, word| match suggestion_for(parent, word) {
            Some(CommandSuggestion::Commands(commands)) => commands,
            _ => &[],
        };
        assert_eq!(commands(None, "exec"), ["run -e CODE"]);
        assert_eq!(commands(Some("servers"), "rm"), ["servers remove"]);
        assert_eq!(commands(Some("runs"), "rm"), [""; 0]);
        assert_eq!(
            suggestion_for(None, "upgrade"),
            Some(CommandSuggestion::Update)
        );
        assert_eq!(suggestion_for(Some("servers"), "update"), None);
        assert_eq!(suggestion_for(None, "frobnicate"), None);
    }
}
