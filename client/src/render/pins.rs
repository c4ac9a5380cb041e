//! Tools beside what was pinned of them, and how the two differ.
//!
//! Invariant: whatever a server wrote stands here as JSON, with its control sequences and all that nobody sees spelled
//! out.

use std::{process::ExitCode, time::Duration};

use super::terminal::{eprint, println};
use comfy_table::{Cell, Color};
use mux_proto::{PinInfo, PinList, PinStanding};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::{
    amounts, document,
    lists::{bare, flush},
    style::{DIM, ERROR, GOOD, NAME, STRONG, WARN, one_line, paint},
};

/// For the shortest difference.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);
/// Lines around a difference.
const AROUND: usize = 3;
const NAME_WIDTH: usize = 100;
/// Digits of a digest that a person compares.
const DIGITS: usize = 16;

pub(crate) fn pins(list: &PinList, json: bool) -> ExitCode {
    if json {
        document(list);
        return ExitCode::SUCCESS;
    }
    let mut table = bare(["TOOL", "STANDING", "SINCE", "DIGEST"]);
    for tool in &list.tools {
        let digest = tool.digest.as_deref().unwrap_or("-");
        table.add_row([
            Cell::new(one_line(&tool.name, NAME_WIDTH)),
            standing(tool.standing),
            Cell::new(tool.since_ms.map_or_else(|| "-".into(), amounts::date)),
            Cell::new(digest.get(..DIGITS).unwrap_or(digest)),
        ]);
    }
    println!("{}", flush(&table));
    ExitCode::SUCCESS
}

fn standing(standing: PinStanding) -> Cell {
    match standing {
        PinStanding::Trusted => Cell::new("trusted").fg(Color::Green),
        PinStanding::New => Cell::new("new").fg(Color::Yellow),
        PinStanding::Changed => Cell::new("changed").fg(Color::Yellow),
        PinStanding::Refused => Cell::new("refused").fg(Color::Red),
        PinStanding::Unpinned => Cell::new("not pinned").fg(Color::DarkGrey),
    }
}

/// What somebody is about to accept.
pub(crate) fn differences(server: &str, tools: &[PinInfo]) {
    for tool in tools {
        let path = format!("{server}.{}", one_line(&tool.name, NAME_WIDTH));
        println!("{}  {}", paint(STRONG, path), paint(DIM, summary(tool)));
        for line in difference(tool).lines() {
            match line.as_bytes().first() {
                Some(b'+') => println!("{}", paint(GOOD, line)),
                Some(b'-') => println!("{}", paint(ERROR, line)),
                Some(b'@') => println!("{}", paint(DIM, line)),
                _ => println!("{line}"),
            }
        }
        println!();
    }
}

fn summary(tool: &PinInfo) -> &'static str {
    match (tool.standing, &tool.before, &tool.now) {
        (PinStanding::New, ..) => "new since its server was first trusted",
        (_, _, None) => "changed; it is too long to be shown",
        (_, None, _) => "what was trusted of it is not known any more; this is what it is now",
        _ => "not what was first trusted",
    }
}

fn difference(tool: &PinInfo) -> String {
    let Some(now) = &tool.now else {
        return String::new();
    };
    let before = tool.before.as_deref().unwrap_or_default();
    // A server chose both. What takes longer is shown as it is found, line by line.
    let diff = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_lines(before, now);
    let mut shown = String::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        shown.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            shown.push_str(&format!(
                "{sign}{}\n",
                change.value().trim_end_matches('\n')
            ));
        }
    }
    shown
}

/// A question, whose answer is typed behind it.
pub(crate) fn ask_to_accept(count: usize) {
    let what = amounts::count(count, "tool");
    eprint!("{} {what} as shown? [y/N] ", paint(WARN, "accept"));
}

/// What was accepted.
pub(crate) fn accepted(server: &str, tools: &[PinInfo], count: usize, json: bool) -> ExitCode {
    if json {
        let tools: Vec<Value> = tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "standing": tool.standing,
                    "digest": tool.digest,
                    "diff": difference(tool),
                })
            })
            .collect();
        document(&json!({ "server": server, "accepted": count, "tools": tools }));
    } else if count == 0 {
        println!(
            "{}: nothing waits; its tools are what was trusted",
            paint(NAME, server)
        );
    } else {
        let what = amounts::count(count, "tool");
        println!("{}: {what} accepted", paint(NAME, server));
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_both_and_what_stands_around() {
        let text = |word: &str| format!("{{\n  \"a\": 1,\n  \"description\": \"{word}\"\n}}");
        let mut tool = PinInfo {
            name: "x".into(),
            standing: PinStanding::Refused,
            digest: None,
            since_ms: None,
            before: Some(text("old")),
            now: Some(text("new")),
        };
        let shown = difference(&tool);
        assert!(
            shown.contains("\n-  \"description\": \"old\"\n+  \"description\": \"new\"\n"),
            "{shown}"
        );
        assert!(shown.contains("\n   \"a\": 1,\n"), "{shown}");
        tool.before = None;
        assert!(difference(&tool).contains("+  \"description\": \"new\""));
    }
}
