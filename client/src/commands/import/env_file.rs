//! The `env` file beside config.toml: lines of `NAME=value`, as the daemon reads them.

/// The content of an `env` file, with edits.
#[derive(Clone, Debug)]
pub(in crate::commands) struct EnvFile {
    lines: Vec<String>,
    changed: bool,
    wrote_over: bool,
}

impl EnvFile {
    pub(in crate::commands) fn parse(text: &str) -> Self {
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            changed: false,
            wrote_over: false,
        }
    }

    /// The value of a variable. If it has several lines in the file, the last one counts.
    pub(in crate::commands) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self
            .lines
            .iter()
            .rev()
            .filter_map(|line| parse_assignment(line));
        values.find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The names of all variables.
    pub(in crate::commands) fn names(&self) -> impl Iterator<Item = &str> {
        let assignments = self.lines.iter().filter_map(|line| parse_assignment(line));
        assignments.map(|(name, _)| name)
    }

    /// Sets a variable, in its own line if it has one. `false`: a line cannot hold this value.
    pub(in crate::commands) fn set(&mut self, name: &str, value: &str) -> bool {
        if value.contains(['\n', '\r', '\0']) {
            return false;
        }
        if self.get(name) == Some(value) {
            return true;
        }
        // The parser strips one pair of quotes, regardless of the content.
        let line = format!("{name}=\"{value}\"");
        let old = self
            .lines
            .iter()
            .rposition(|line| parse_assignment(line).is_some_and(|(n, _)| n == name));
        match old {
            Some(index) => {
                self.lines[index] = line;
                self.wrote_over = true;
            }
            None => self.lines.push(line),
        }
        self.changed = true;
        true
    }

    /// Removes all lines of a variable.
    pub(in crate::commands) fn remove(&mut self, name: &str) {
        let before = self.lines.len();
        self.lines
            .retain(|line| parse_assignment(line).is_none_or(|(known, _)| known != name));
        if self.lines.len() < before {
            self.changed = true;
            self.wrote_over = true;
        }
    }

    pub(in crate::commands) fn changed(&self) -> bool {
        self.changed
    }

    /// Returns true if an existing value was overwritten.
    pub(in crate::commands) fn overwrote_value(&self) -> bool {
        self.wrote_over
    }

    pub(in crate::commands) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

fn parse_assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let value = value.trim();
    let inner = ['"', '\''].iter().find_map(|quote| {
        value
            .strip_prefix(*quote)
            .and_then(|rest| rest.strip_suffix(*quote))
    });
    Some((name.trim(), inner.unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_adds_or_changes_one_line_and_keeps_the_others() {
        let mut file = EnvFile::parse("# mine\nexport A='1'\n\nB = two\n");
        assert_eq!(
            (file.get("A"), file.get("B"), file.get("C")),
            (Some("1"), Some("two"), None)
        );
        assert!(file.set("A", "1") && !file.changed());
        assert!(file.set("C", "a \"b\" $c # d"));
        assert!(file.changed() && !file.overwrote_value());
        assert!(file.set("B", "2") && file.overwrote_value());
        assert_eq!(
            file.text(),
            "# mine\nexport A='1'\n\nB=\"2\"\nC=\"a \"b\" $c # d\"\n"
        );
        assert_eq!(
            EnvFile::parse(&file.text()).get("C"),
            Some("a \"b\" $c # d")
        );
        file.remove("A");
        assert_eq!(file.get("A"), None);
        assert!(!file.set("D", "two\nlines"));
        assert_eq!(file.get("D"), None);
    }
}
