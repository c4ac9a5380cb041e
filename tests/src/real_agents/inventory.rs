//! Compares the number of signatures that a definition of `run` claims with the number that it contains.

use serde_json::{Value, json};

use super::model_request::strings;
use crate::{Agent, TestEnv};

/// Enough tokens for every signature.
const ALL_TOKENS: &str = "1000000";

/// All signatures of a home, as its daemon writes them.
#[derive(Debug)]
pub struct Inventory {
    /// Each with its arguments and without its result, such as `files.read(args: { path: string })`.
    signatures: Vec<String>,
}

impl Inventory {
    /// Asks an agent's `mux mcp` that has room for everything.
    pub fn of(env: &TestEnv) -> Self {
        let args = ["--profile", "whole", "--inventory", ALL_TOKENS];
        let mut agent = Agent::legacy(env, &args, json!({}));
        let listed = agent.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        let run = tools.iter().find(|tool| tool["name"] == "run").unwrap();
        let text = strings(run);
        assert!(text.contains("COMPLETE"), "{text}");
        Self {
            signatures: text
                .lines()
                .filter_map(signature)
                .map(str::to_owned)
                .collect(),
        }
    }

    pub fn total(&self) -> usize {
        self.signatures.len()
    }

    /// How many signatures a definition of `run` has.
    pub fn shown_in(&self, definition: &Value) -> usize {
        let text = strings(definition);
        let shown: Vec<&str> = text.lines().filter_map(signature).collect();
        let all = self.signatures.iter();
        all.filter(|known| shown.contains(&known.as_str())).count()
    }

    /// The number of signatures that a definition of `run` claims to have, or `None` if it does not mention them.
    pub fn claimed_in(&self, definition: &Value) -> Option<usize> {
        strings(definition)
            .lines()
            .find_map(|line| claim(line, self.total()))
    }
}

/// The signature at the beginning of a line of the inventory.
fn signature(line: &str) -> Option<&str> {
    let line = line.trim();
    let (path, _) = line.split_once('(')?;
    let is_path = path.contains('.') && !path.contains(char::is_whitespace);
    let mut depth = 0_usize;
    let end = line.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (c == ')' && depth == 0).then_some(at + 1)
    });
    line.get(..end?).filter(|_| is_path)
}

/// `COMPLETE: …`, `… 11 of 74 signatures …`, `… the signatures of 11 of 74 tools …`, `… 11 of them … with signatures …`.
fn claim(line: &str, total: usize) -> Option<usize> {
    if line.contains("COMPLETE") {
        return Some(total);
    }
    if !line.contains("signatures") {
        return None;
    }
    let words = line.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let number = |word: &str| word.parse::<usize>().ok();
    let counted = |second: fn(&str) -> bool| {
        words.windows(3).find_map(|three| {
            let is_it = three[1] == "of" && second(three[2]);
            number(three[0]).filter(|_| is_it)
        })
    };
    let is_number = |word: &str| word.parse::<usize>().is_ok();
    let found = counted(|word| word == "them").or_else(|| {
        if line.contains("without signatures") {
            Some(0)
        } else {
            counted(is_number)
        }
    });
    found.filter(|_| line.contains("PARTIAL") || words.iter().any(|word| is_number(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_an_inventory_are_understood() {
        for (line, claimed) in [
            (
                "COMPLETE: the signatures of all 74 tools of 4 servers.",
                Some(74),
            ),
            (
                "PARTIAL: the signatures of 11 of 74 tools, and the names of the others; …",
                Some(11),
            ),
            (
                "PARTIAL: the names of 60 of 74 tools, 11 of them, the most used ones, with signatures; …",
                Some(11),
            ),
            (
                "PARTIAL: the names of all 74 tools, without signatures; …",
                Some(0),
            ),
            ("11 of 74 signatures; `search` finds the others", Some(11)),
            (
                "- Types are checked first: `describe` gives signatures.",
                None,
            ),
            ("a.b(args: { x: number })", None),
        ] {
            assert_eq!(claim(line, 74), claimed, "{line}");
        }
    }

    #[test]
    fn signatures_end_with_their_arguments() {
        for (line, expected) in [
            (
                "a.b(args: { x: (y) => void }): Promise<string> // Says (so).",
                Some("a.b(args: { x: (y) => void })"),
            ),
            ("a.b(args?: {}) // Says so.", Some("a.b(args?: {})")),
            ("a.b(args?: { x: num", None),
            ("- A call (such as a.b()) returns", None),
        ] {
            assert_eq!(signature(line), expected, "{line}");
        }
    }
}
