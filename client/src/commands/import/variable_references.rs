//! Translates the agents' references to variables into the syntax of config.toml.

use std::{collections::BTreeSet, fmt::Write as _};

use super::server_names::secret_variable;
use crate::agents::{Agent, ReferenceSyntax};

/// The position of a string in an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TextPosition {
    /// In a variable or a header, where `${NAME}` is never meant literally.
    Value,
    /// In an argument: the program may expand `${NAME}` itself, from variables that the entry sets.
    Argument,
}

/// Translates the strings of one entry.
pub(super) struct ReferenceTranslator<'a> {
    pub(super) agent: Agent,
    /// The names of the variables that the entry sets.
    pub(super) own: &'a BTreeSet<String>,
    /// Notes on values that could not be carried over.
    pub(super) notes: Vec<String>,
    /// Variables whose values the user must put into the `env` file.
    pub(super) variables_by_hand: Vec<String>,
    /// True if the server cannot work with the translated entry.
    pub(super) broken: bool,
}

impl<'a> ReferenceTranslator<'a> {
    pub(super) fn new(agent: Agent, own: &'a BTreeSet<String>) -> Self {
        Self {
            agent,
            own,
            notes: Vec::new(),
            variables_by_hand: Vec::new(),
            broken: false,
        }
    }

    pub(super) fn translate_text(&mut self, text: &str, position: TextPosition) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let inner = |open: &str| {
                let inside = rest.strip_prefix(open)?;
                inside
                    .find('}')
                    .map(|end| (&inside[..end], &inside[end + 1..]))
            };
            if let Some((name, after)) = inner("${") {
                match self.translate_reference(name, position) {
                    Some(ours) => out.push_str(&ours),
                    None => _ = write!(out, "$${{{}}}", escape_literal(name)),
                }
                rest = after;
            } else if self.replaces(ReferenceSyntax::Braces)
                && let Some((name, after)) = inner("{")
                && let Some(ours) = self.translate_braces(name)
            {
                out.push_str(&ours);
                rest = after;
            } else if let Some(name) = self.bare_name(rest) {
                match self.translate_reference(name, position) {
                    Some(ours) => out.push_str(&ours),
                    None => _ = write!(out, "${name}"),
                }
                rest = &rest[1 + name.len()..];
            } else if self.replaces(ReferenceSyntax::Command)
                && let Some((command, after)) = split_command(rest)
            {
                _ = write!(out, "${{cmd:{command}}}");
                rest = after;
            } else if let Some(after) = rest.strip_prefix('$') {
                out.push_str(if after.starts_with(['$', '{']) {
                    "$$"
                } else {
                    "$"
                });
                rest = after;
            } else {
                out.push('{');
                rest = &rest[1..];
            }
        }
        out.push_str(rest);
        out
    }

    fn replaces(&self, syntax: ReferenceSyntax) -> bool {
        self.agent.spec().references.contains(&syntax)
    }

    /// The name at the beginning of `$NAME…`, if the agent replaces that.
    fn bare_name<'t>(&self, text: &'t str) -> Option<&'t str> {
        let after = text
            .strip_prefix('$')
            .filter(|_| self.replaces(ReferenceSyntax::Bare))?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
        Some(&after[..end]).filter(|name| is_variable_name(name))
    }

    /// Translates the inside of `${…}`. `None` if it is meant literally.
    fn translate_reference(&mut self, inner: &str, position: TextPosition) -> Option<String> {
        if let Some(name) = inner
            .strip_prefix("env:")
            .filter(|name| is_variable_name(name))
        {
            return Some(format!("${{{name}}}"));
        }
        if let Some(id) = inner.strip_prefix("input:") {
            let agent = self.agent.display_name();
            let reason = format!("`{id}` is an input that {agent} asks for");
            return Some(self.refer_by_hand(&reason, secret_variable("input", id)));
        }
        match inner {
            "userHome" => return Some("${HOME}".into()),
            "pathSeparator" | "/" => return Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => {}
        }
        if let Some((name, default)) = inner.split_once(":-")
            && is_variable_name(name)
            && self.replaces(ReferenceSyntax::Default)
        {
            self.notes.push(format!(
                "`${{{name}:-…}}` was replaced by its default; write ${{{name}:-…}} in config.toml to use the variable"
            ));
            return Some(escape_literal(default));
        }
        if is_variable_name(inner) && !self.is_editor_variable(inner) {
            let meant = match position {
                TextPosition::Value => true,
                TextPosition::Argument => {
                    self.replaces(ReferenceSyntax::Arguments) && !self.own.contains(inner)
                }
            };
            return meant.then(|| format!("${{{inner}}}"));
        }
        if self.is_editor_variable(inner) || inner.contains(':') {
            self.notes.push(format!(
                "`${{{inner}}}` of {} has no equivalent here; the server is disabled until you replace it",
                self.agent.display_name()
            ));
            self.broken = true;
        }
        None
    }

    fn translate_braces(&mut self, inner: &str) -> Option<String> {
        if let Some(name) = inner
            .strip_prefix("env:")
            .filter(|name| is_variable_name(name))
        {
            return Some(format!("${{{name}}}"));
        }
        let file = inner.strip_prefix("file:")?;
        let reason = format!("the file {file} is not read");
        Some(self.refer_by_hand(&reason, secret_variable("file", file)))
    }

    /// The reference to a variable whose value the user must put into the `env` file, for this reason.
    pub(super) fn refer_by_hand(&mut self, reason: &str, name: String) -> String {
        self.notes.push(format!(
            "{reason}; put {name}=… into the file `env` next to config.toml"
        ));
        let reference = format!("${{{name}}}");
        self.variables_by_hand.push(name);
        reference
    }

    /// Returns true if the name is an editor's predefined variable, such as `workspaceFolder`.
    fn is_editor_variable(&self, name: &str) -> bool {
        self.replaces(ReferenceSyntax::EditorVariables)
            && (name.starts_with("workspace")
                || name.starts_with("file")
                || name.starts_with("relativeFile")
                || matches!(
                    name,
                    "cwd" | "execPath" | "defaultBuildTask" | "selectedText" | "lineNumber"
                ))
    }
}

/// Escapes a literal string for config.toml.
pub(in crate::commands) fn escape_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        if c == '$' && matches!(rest.peek(), Some('$' | '{')) {
            out.push('$');
        }
    }
    out
}

/// Unescapes a string, or returns `None` if it refers to a variable.
pub(super) fn unescape_literal(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.starts_with('{') {
            return None;
        }
        rest = rest.strip_prefix('$').unwrap_or(rest);
        out.push('$');
    }
    out.push_str(rest);
    Some(out)
}

/// The command in `$(command)…`, and the rest of the string.
fn split_command(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("$(")?;
    let mut depth = 0;
    let end = inside.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0
    })?;
    Some((&inside[..end], &inside[end + 1..]))
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_translated_and_dollar_signs_kept() {
        use TextPosition::{Argument, Value};
        let own = BTreeSet::from(["AUTH".to_owned()]);
        for (agent, position, theirs, ours) in [
            (Agent::Claude, Value, "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
            (Agent::Claude, Value, "${URL:-http://a/$b}", "http://a/$b"),
            (
                Agent::Claude,
                Argument,
                "Authorization:${AUTH}",
                "Authorization:$${AUTH}",
            ),
            (Agent::Claude, Argument, "${DIR}/x", "${DIR}/x"),
            (Agent::ClaudeDesktop, Argument, "${DIR}/x", "$${DIR}/x"),
            (Agent::Codex, Value, "${DIR}", "${DIR}"),
            (
                Agent::Vscode,
                Value,
                "${env:A_B}-${userHome}",
                "${A_B}-${HOME}",
            ),
            (
                Agent::Vscode,
                Argument,
                "${input:api-key}",
                "${MUX_INPUT_API_KEY}",
            ),
            (
                Agent::Vscode,
                Argument,
                "${workspaceFolder}/a",
                "$${workspaceFolder}/a",
            ),
            (Agent::Opencode, Value, "Bearer {env:T}", "Bearer ${T}"),
            (Agent::Opencode, Value, "{\"a\":{}}", "{\"a\":{}}"),
            (Agent::Opencode, Value, "{file:~/.key}", "${MUX_FILE_KEY}"),
            (Agent::Cursor, Value, "a$b $1 $", "a$b $1 $"),
            (Agent::Gemini, Value, "a$b $1 $", "a${b} $1 $"),
            (Agent::Gemini, Argument, "$AUTH-${X:-y}", "$AUTH-y"),
            (Agent::Copilot, Argument, "$HOME/x", "${HOME}/x"),
            (Agent::Qwen, Argument, "$A_1.b${C}", "${A_1}.b${C}"),
            (Agent::Crush, Value, "$T", "${T}"),
            (
                Agent::Crush,
                Value,
                "a $(echo $(b)) $T",
                "a ${cmd:echo $(b)} ${T}",
            ),
            (Agent::Crush, Value, "$(a", "$(a"),
            (Agent::Goose, Value, "pa$word", "pa$word"),
            (Agent::Cline, Argument, "${env:A}${B}", "${A}$${B}"),
            (Agent::Kiro, Argument, "${A}", "$${A}"),
            (Agent::Cursor, Value, "$$ ${", "$$$ $${"),
            (Agent::Cursor, Value, "${not a name}", "$${not a name}"),
        ] {
            let mut translator = ReferenceTranslator::new(agent, &own);
            assert_eq!(
                translator.translate_text(theirs, position),
                ours,
                "{agent:?} {theirs}"
            );
            assert_eq!(translator.broken, theirs.contains("workspace"));
            let by_hand = theirs.contains("input:") || theirs.contains("file:");
            assert_eq!(!translator.variables_by_hand.is_empty(), by_hand);
        }
    }

    #[test]
    fn escaped_text_is_literal() {
        for text in ["a", "$", "$$", "${A}", "$${A}", "a$b$", "$$$", "{$}"] {
            assert_eq!(
                unescape_literal(&escape_literal(text)).as_deref(),
                Some(text)
            );
        }
        assert_eq!(unescape_literal("x${A}"), None);
    }
}
