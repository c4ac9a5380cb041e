//! Tools with their pinned definitions, and the differences.
//!
//! Invariant: a server's text is shown as JSON, with control and invisible characters escaped.

use std::{borrow::Cow, process::ExitCode, time::Duration};

use super::terminal::{println, report};
use comfy_table::{Cell, Color};
use mux_proto::{PinInfo, PinList, PinStanding};
use mux_typegen::names::spell;
use serde_json::json;
use similar::TextDiff;

use super::{
    human_units, note, show,
    style::{DIM, NAME, STRONG, one_line, paint, paint_diff_line},
    table::ListTable,
    warn,
};

/// The time limit for finding the shortest diff.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of context lines.
const PIN_DIFF_CONTEXT_LINES: usize = 3;
const MAX_PIN_NAME_CHARS: usize = 100;
/// The number of digits of a digest that are shown.
const SHOWN_DIGEST_DIGITS: usize = 16;

pub(crate) fn pins(list: &PinList) {
    let mut table = ListTable::new(["TOOL", "STATUS", "SINCE", "DIGEST"]).leaving_out(["SINCE"]);
    for tool in &list.tools {
        let digest = tool.digest.as_deref().unwrap_or("-");
        table.add_row([
            Cell::new(one_line(&pinned_tool_name(list, tool), MAX_PIN_NAME_CHARS)),
            pin_status_cell(tool),
            Cell::new(
                tool.since_ms
                    .map_or_else(|| "-".into(), human_units::date_text),
            ),
            Cell::new(digest.get(..SHOWN_DIGEST_DIGITS).unwrap_or(digest)),
        ]);
    }
    println!("{}", table.text());
    for tool in &list.tools {
        if let Some(text) = &tool.note {
            let name = one_line(&pinned_tool_name(list, tool), MAX_PIN_NAME_CHARS);
            note(&format!("{name}: {text}"));
        }
    }
}

/// The name of a tool as written in programs, or its own name if another tool of the server has the
/// same program name.
pub(crate) fn pinned_tool_name<'a>(list: &PinList, tool: &'a PinInfo) -> Cow<'a, str> {
    let spelled = spell(&tool.name);
    let mut others = list.tools.iter().filter(|other| other.name != tool.name);
    if others.any(|other| spell(&other.name) == spelled) {
        Cow::Borrowed(&tool.name)
    } else {
        spelled
    }
}

fn pin_status_cell(tool: &PinInfo) -> Cell {
    match tool.standing {
        PinStanding::Changed if tool.note.is_some() => Cell::new("trusted").fg(Color::Green),
        PinStanding::Trusted => Cell::new("trusted").fg(Color::Green),
        PinStanding::New => Cell::new("new").fg(Color::Yellow),
        PinStanding::Changed => Cell::new("changed").fg(Color::Yellow),
        PinStanding::Refused => Cell::new("refused").fg(Color::Red),
        PinStanding::Unpinned => Cell::new("not pinned").fg(Color::DarkGrey),
    }
}

/// Prints the differences that the user is about to accept.
pub(crate) fn differences(list: &PinList, tools: &[PinInfo]) {
    for tool in tools {
        let name = one_line(&pinned_tool_name(list, tool), MAX_PIN_NAME_CHARS);
        let path = format!("{}.{name}", spell(&list.server));
        println!("{}  {}", paint(STRONG, &path), paint(DIM, summary(tool)));
        if !tool.changed_paths.is_empty() {
            let places = tool.changed_paths.iter();
            let places: Vec<_> = places
                .map(|path| one_line(path, MAX_PIN_NAME_CHARS))
                .collect();
            println!("differs in {}", places.join(", "));
        }
        for line in difference(tool).lines() {
            println!("{}", paint_diff_line(line));
        }
        for sign in &tool.signs {
            warn(format!("{path} may instruct a model: {sign}"));
        }
        println!();
    }
}

fn summary(tool: &PinInfo) -> &'static str {
    match (tool.standing, &tool.before, &tool.now) {
        (PinStanding::Changed, ..) if tool.note.is_some() => {
            "only stricter hints or an output schema differ; it can be called whether you accept it or not"
        }
        (PinStanding::New, ..) => "new since its server was first trusted",
        (_, _, None) => "changed; too long to show",
        (_, None, _) => "the trusted definition is no longer stored; this is the current one",
        _ => "differs from what was first trusted",
    }
}

fn difference(tool: &PinInfo) -> String {
    let Some(now) = &tool.now else {
        return String::new();
    };
    let before = tool.before.as_deref().unwrap_or_default();
    // Both texts are chosen by the server. After the time limit, a longer diff is shown.
    let diff = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_lines(before, now);
    let mut hunks = diff.unified_diff();
    hunks.context_radius(PIN_DIFF_CONTEXT_LINES);
    hunks.missing_newline_hint(false).to_string()
}

/// Prints which tools were accepted.
pub(crate) fn accepted(server: &str, tools: &[PinInfo], count: usize, json: bool) -> ExitCode {
    let document = json!({ "server": server, "accepted": count, "tools": tools });
    show(&document, json, |_| {
        let name = paint(NAME, server);
        if count == 0 {
            report!("{name}: nothing to accept; no tool has changed since it was pinned");
        } else {
            let what = human_units::count_text(count, "tool");
            report!("{name}: {what} accepted");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_with_one_spelling_keep_their_names() {
        let tool = |name: &str| PinInfo {
            name: name.into(),
            standing: PinStanding::Trusted,
            digest: None,
            since_ms: None,
            before: None,
            now: None,
            note: None,
            changed_paths: Vec::new(),
            signs: Vec::new(),
        };
        let list = PinList {
            server: "s".into(),
            tools: ["get-it", "a-b", "a_b"].map(tool).into(),
        };
        let names = list.tools.iter().map(|tool| pinned_tool_name(&list, tool));
        assert_eq!(names.collect::<Vec<_>>(), ["get_it", "a-b", "a_b"]);
    }

    #[test]
    fn difference_shows_both_versions_with_context() {
        let text = |word: &str| format!("{{\n  \"a\": 1,\n  \"description\": \"{word}\"\n}}");
        let mut tool = PinInfo {
            name: "x".into(),
            standing: PinStanding::Refused,
            digest: None,
            since_ms: None,
            before: Some(text("old")),
            now: Some(text("new")),
            note: None,
            changed_paths: Vec::new(),
            signs: Vec::new(),
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
