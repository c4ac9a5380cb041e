//! The servers of an inventory: their names, numbers of tools, and purposes.
//!
//! Invariant: every server is named, in the most detailed form for which there is room. If not even the names fit, the
//! text says how many are missing. Without room for that, the text is empty.

use std::fmt::Write as _;

use super::{InventoryServer, count_with_noun, text_size::TextSize};

/// The lengths to which purposes are shortened, in characters, until they fit.
const PURPOSE_CHARS: [usize; 3] = [120, 80, 40];
/// The number of tools that stand for the purpose of a server that does not state one.
const EXAMPLE_TOOLS: usize = 3;

pub(super) struct Overview<'a> {
    pub(super) servers: &'a [InventoryServer],
    /// The servers whose tools are not known.
    pub(super) unknown: &'a [String],
    /// Tools are named as examples if a server does not state its purpose.
    pub(super) with_examples: bool,
}

impl Overview<'_> {
    pub(super) fn render(&self, room: TextSize) -> String {
        let fits = |text: &String| TextSize::of(text).fits(room);
        let with_purposes = PURPOSE_CHARS.into_iter().map(|chars| self.purposes(chars));
        let mut forms = with_purposes.chain([self.counts()]);
        forms.find(fits).unwrap_or_else(|| self.names(room))
    }

    /// One line for each server.
    fn purposes(&self, max_chars: usize) -> String {
        let mut text = String::new();
        for server in self.servers {
            _ = write!(
                text,
                "{} ({})",
                server.spelled,
                count_with_noun(server.tools.len(), "tool")
            );
            if let Some(purpose) = self.purpose(server) {
                text.push_str(": ");
                text.push_str(&shorten(&purpose, max_chars));
            }
            text.push('\n');
        }
        if self
            .servers
            .iter()
            .all(|server| self.purpose(server).is_none())
        {
            return self.counts();
        }
        text + &self.unknown_line()
    }

    fn purpose(&self, server: &InventoryServer) -> Option<String> {
        if server.purpose.is_some() || !self.with_examples {
            return server.purpose.clone();
        }
        let ranks = 0..EXAMPLE_TOOLS;
        let examples: Vec<&str> = ranks
            .filter_map(|rank| server.index(rank))
            .map(|index| server.tools[index].as_str())
            .collect();
        let more = server.tools.len() > examples.len();
        let end = if more { ", …" } else { "" };
        (!examples.is_empty()).then(|| format!("{}{end}", examples.join(", ")))
    }

    /// All servers in one line, each with its number of tools.
    fn counts(&self) -> String {
        let counts = self.servers.iter();
        let counts: Vec<String> = counts
            .map(|server| format!("{} ({})", server.spelled, server.tools.len()))
            .collect();
        let mut text = String::new();
        if !counts.is_empty() {
            text = format!(
                "{}, each with its number of tools: {}\n",
                count_with_noun(self.servers.len(), "server"),
                counts.join(", ")
            );
        }
        text + &self.unknown_line()
    }

    fn unknown_line(&self) -> String {
        if self.unknown.is_empty() {
            String::new()
        } else {
            format!("not connected yet: {}\n", self.unknown.join(", "))
        }
    }

    /// As many names as fit, and the number of remaining servers.
    fn names(&self, room: TextSize) -> String {
        let known = self.servers.iter().map(|server| server.spelled.as_str());
        let all: Vec<&str> = known
            .chain(self.unknown.iter().map(String::as_str))
            .collect();
        let text = |shown: usize| {
            let servers = count_with_noun(all.len(), "server");
            let names = all[..shown].join(", ");
            match (shown, all.len() - shown) {
                (_, 0) => format!("{servers}: {names}\n"),
                (0, _) => format!("{servers}; `search` finds their tools\n"),
                (_, left) => {
                    format!("{servers}: {names} and {left} more; `search` finds their tools\n")
                }
            }
        };
        // Each name makes the text longer, except the last: with it, the notice about missing names disappears.
        let fits = |shown: usize| TextSize::of(&text(shown)).fits(room);
        if fits(all.len()) {
            return text(all.len());
        }
        let fitting = (0..all.len())
            .collect::<Vec<_>>()
            .partition_point(|shown| fits(*shown));
        fitting.checked_sub(1).map(text).unwrap_or_default()
    }
}

/// The first characters of a text, up to the end of a word.
fn shorten(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return text.to_owned();
    };
    let begin = &text[..end];
    let word_end = begin.rfind(' ').unwrap_or(end);
    format!("{}…", begin[..word_end].trim_end_matches([',', ';', ' ']))
}
