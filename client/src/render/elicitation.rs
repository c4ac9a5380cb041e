//! A server's question at the terminal: who asks, the server's own words, and the prompts for an answer.
//!
//! Invariant: the server's text is behind a bar on each line, is escaped and bounded, and never begins a line or a
//! prompt of ours.

use mux_proto::Error;
use serde_json::Value;
use unicode_width::UnicodeWidthChar as _;
use url::Url;

use super::{
    approvals::shown_path,
    style::{DIM, NAME, STRONG, WARN, escape_text, one_line, paint},
    table::{STANDARD_COLUMNS, columns_of},
    terminal::{eprint, eprintln},
};
use crate::elicitation::{
    CANCEL_COMMAND, DECLINE_COMMAND, DialogPrompt, ElicitationDialog, EnumChoice, FieldKind,
    FormField, SKIP_ANSWER, TextFormat, is_numbered,
};

/// Marks the words of a server.
const BAR: &str = "  \u{2502} ";
/// The maximum number of lines shown of one server text.
const MAX_QUOTED_LINES: usize = 100;
const MAX_SHOWN_CHOICES: usize = 50;
/// The maximum length of the label of a choice, in characters.
const MAX_CHOICE_CHARS: usize = 200;
const MAX_DEFAULT_CHARS: usize = 60;
const MAX_NAME_CHARS: usize = 100;
/// The width of a terminal that does not say how wide it is, and the least that is used.
const MIN_COLUMNS: usize = 20;

/// Prints who asks, for which call, and the server's message.
pub(crate) fn ask_elicitation(server: &str, tool: Option<&str>, dialog: &ElicitationDialog) {
    for line in opening_lines(server, tool, dialog, columns()) {
        eprintln!("{line}");
    }
}

/// Prints the current question to the user. `again` is true if the server's words are already above.
pub(crate) fn elicitation_prompt(dialog: &ElicitationDialog, again: bool) {
    let prompt = dialog.prompt();
    if let (DialogPrompt::Field { field, .. }, false) = (&prompt, again) {
        for line in field_lines(field, columns()) {
            eprintln!("{line}");
        }
    }
    eprint!("{}", prompt_text(&prompt, dialog.has_fields()));
}

/// Prints why a line is not an answer.
pub(crate) fn elicitation_retry(why: &str) {
    eprintln!("  {}", paint(WARN, why));
}

/// Ends the line of a prompt that gets no answer.
pub(crate) fn end_prompt_line() {
    eprintln!();
}

/// Prints the effect of each answer.
pub(crate) fn explain_elicitation(dialog: &ElicitationDialog) {
    for line in answer_lines(dialog) {
        eprintln!("  {line}");
    }
}

/// Prints that a question was answered without the user.
pub(crate) fn elicitation_unanswered(server: &str, action: &str, why: &str) {
    super::note(&format!(
        "a question from the MCP server {} was {action}: {why}",
        quoted_name(server)
    ));
}

/// Prints that muxd rejected an answer.
pub(crate) fn elicitation_rejected(error: &Error) {
    super::note(&error.message);
}

/// Prints that the server reports the end of the user's task on a page.
pub(crate) fn page_completed(server: &str) {
    eprintln!(
        "the MCP server {} reports that its page is complete",
        quoted_name(server)
    );
}

fn opening_lines(
    server: &str,
    tool: Option<&str>,
    dialog: &ElicitationDialog,
    columns: usize,
) -> Vec<String> {
    let server = paint(STRONG, quoted_name(server));
    let call = tool.map(|tool| format!(", for the call {}", paint(NAME, shown_path(tool))));
    let what = match dialog.page() {
        Some(_) => " to open a page",
        None => "",
    };
    let call = call.unwrap_or_default();
    let mut lines = vec![format!("The MCP server {server} asks{what}{call}:")];
    lines.extend(quoted_lines(dialog.message(), columns));
    if let Some(url) = dialog.page() {
        lines.extend(page_lines(url, columns));
    }
    if dialog.has_fields() {
        let how = format!(
            "press Enter to accept the [default] or skip an optional field; {DECLINE_COMMAND} or {CANCEL_COMMAND} ends the form"
        );
        lines.push(format!("  {}", paint(DIM, how)));
    }
    lines
}

/// The origin in full and as a browser resolves it, and the address.
fn page_lines(url: &Url, columns: usize) -> Vec<String> {
    let origin = url.origin();
    let ascii = origin.ascii_serialization();
    let unicode = origin.unicode_serialization();
    let looks_like = if ascii == unicode {
        String::new()
    } else {
        format!(
            " {} {}",
            paint(WARN, "which a browser may show as"),
            escape_text(&unicode)
        )
    };
    let mut lines = vec![format!(
        "  the page is at {}{looks_like}",
        paint(STRONG, ascii)
    )];
    // In full: the user agrees to this address. Its length is limited, and it is ASCII.
    lines.extend(behind_bar(&wrapped(url.as_str(), quoted_columns(columns))));
    lines
}

/// The server's words on a field.
fn field_lines(field: &FormField, columns: usize) -> Vec<String> {
    let label = field.title.as_deref().unwrap_or(&field.name);
    let mut lines = quoted_lines(label, columns);
    if let Some(description) = &field.description {
        lines.extend(quoted_lines(description, columns));
    }
    if let FieldKind::OneOf(choices) | FieldKind::AnyOf { choices, .. } = &field.kind {
        lines.extend(choice_lines(choices, columns));
    }
    lines
}

fn choice_lines(choices: &[EnumChoice], columns: usize) -> Vec<String> {
    let is_numbered = is_numbered(choices);
    let mut lines = Vec::new();
    for (index, choice) in choices.iter().take(MAX_SHOWN_CHOICES).enumerate() {
        let title = one_line(&choice.title, MAX_CHOICE_CHARS);
        let line = if is_numbered {
            format!("{:>3}) {title}", index + 1)
        } else {
            format!("  - {title}")
        };
        lines.extend(quoted_lines(&line, columns));
    }
    if let Some(more) = choices.len().checked_sub(MAX_SHOWN_CHOICES + 1) {
        lines.push(format!(
            "  {}",
            paint(DIM, format!("… and {} more", more + 1))
        ));
    }
    lines
}

fn prompt_text(prompt: &DialogPrompt<'_>, has_fields: bool) -> String {
    let verdict = "[d]ecline, [c]ancel, [?]: ";
    match prompt {
        DialogPrompt::Field {
            field,
            number,
            count,
        } => {
            let position = paint(WARN, format!("{number} of {count}"));
            format!("{position} {}: ", field_text(field))
        }
        DialogPrompt::Submit => {
            let question = if has_fields {
                "send your answers?"
            } else {
                "accept?"
            };
            format!("{} [a]ccept, {verdict}", paint(WARN, question))
        }
        DialogPrompt::OpenPage => {
            format!(
                "{} [y]es, {verdict}",
                paint(WARN, "open it in your browser?")
            )
        }
    }
}

/// The allowed input for a field, and the effect of an empty line.
fn field_text(field: &FormField) -> String {
    let mut text = kind_text(&field.kind);
    if field.is_secret {
        text.push_str(", not shown while you type");
    }
    match (&field.default, field.is_required) {
        (Some(default), _) => {
            let shown = if field.is_secret {
                "hidden".into()
            } else {
                default_text(default, &field.kind)
            };
            let skips = if field.skips_by_dash() {
                format!(", {SKIP_ANSWER} skips")
            } else {
                String::new()
            };
            format!("{text}{skips} [{shown}]")
        }
        (None, true) => format!("{text}, required"),
        (None, false) => format!("{text}, optional"),
    }
}

fn kind_text(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text { min, max, format } => {
            let what = match format {
                None => "text",
                Some(TextFormat::Email) => "email address",
                Some(TextFormat::Uri) => "URL",
                Some(TextFormat::Date) => "date (2026-01-31)",
                Some(TextFormat::DateTime) => "date and time (2026-01-31T18:00:00Z)",
            };
            let min = Some(min).filter(|min| **min > 0);
            match range_text(min, max.as_ref()) {
                Some(range) => format!("{what} of {range} characters"),
                None => what.to_owned(),
            }
        }
        FieldKind::Number {
            is_integer,
            min,
            max,
        } => {
            let what = if *is_integer {
                "whole number"
            } else {
                "number"
            };
            match range_text(min.as_ref(), max.as_ref()) {
                Some(range) => format!("{what}, {range}"),
                None => what.to_owned(),
            }
        }
        FieldKind::Boolean => "yes or no".into(),
        FieldKind::OneOf(choices) => format!("one of them, by {}", how_to_choose(choices)),
        FieldKind::AnyOf { choices, min, max } => {
            let how = how_to_choose(choices);
            let min = Some(min).filter(|min| **min > 0);
            match range_text(min, max.as_ref()) {
                Some(range) => format!("{range} of them, by {how}, separated by commas"),
                None => format!("any of them, by {how}, separated by commas"),
            }
        }
        FieldKind::Json => "a JSON value".into(),
    }
}

fn how_to_choose(choices: &[EnumChoice]) -> &'static str {
    if is_numbered(choices) {
        "number or name"
    } else {
        "name"
    }
}

fn range_text<N: std::fmt::Display>(min: Option<&N>, max: Option<&N>) -> Option<String> {
    match (min, max) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    }
}

/// A default as the user would type it.
fn default_text(default: &Value, kind: &FieldKind) -> String {
    let title = |value: &Value| match kind {
        FieldKind::OneOf(choices) | FieldKind::AnyOf { choices, .. } => choices
            .iter()
            .find(|choice| choice.value == *value)
            .map(|choice| choice.title.clone()),
        _ => value.as_str().map(str::to_owned),
    };
    let text = match (default, kind) {
        (Value::Bool(true), _) => "yes".into(),
        (Value::Bool(false), _) => "no".into(),
        (Value::Array(chosen), FieldKind::AnyOf { .. }) => {
            let titles: Vec<_> = chosen.iter().filter_map(title).collect();
            titles.join(", ")
        }
        _ => title(default).unwrap_or_else(|| default.to_string()),
    };
    // Brackets would let it look like the rest of the prompt.
    let text = text.replace(['[', ']'], " ");
    one_line(&text, MAX_DEFAULT_CHARS)
}

fn answer_lines(dialog: &ElicitationDialog) -> [String; 3] {
    let accept = match dialog.page() {
        Some(_) => "y  open the page; the server is told that you agreed",
        None => "a  send the answers to the server",
    };
    [
        accept.to_owned(),
        "d  tell the server that you decline".to_owned(),
        "c  tell the server that you made no choice".to_owned(),
    ]
}

/// A name of a server or a path of a tool in quotes, which it cannot break out of.
fn quoted_name(name: &str) -> String {
    one_line(&Value::from(name).to_string(), MAX_NAME_CHARS)
}

/// The server's text behind a bar, in lines that fit the terminal, which would wrap longer lines to its left edge.
fn quoted_lines(text: &str, columns: usize) -> Vec<String> {
    let text = escape_text(text).replace('\t', "    ");
    let room = quoted_columns(columns);
    let lines = text.lines().flat_map(|line| wrapped(line, room));
    let mut lines: Vec<&str> = lines.take(MAX_QUOTED_LINES + 1).collect();
    if lines.len() > MAX_QUOTED_LINES {
        lines.truncate(MAX_QUOTED_LINES);
        lines.push("\u{2026}");
    }
    behind_bar(&lines)
}

fn quoted_columns(columns: usize) -> usize {
    columns.saturating_sub(BAR.chars().count() + 1)
}

fn behind_bar(lines: &[&str]) -> Vec<String> {
    let bar = paint(DIM, BAR).clone();
    lines.iter().map(|line| format!("{bar}{line}")).collect()
}

/// The line in pieces of at most `room` columns, divided at spaces where there are some.
fn wrapped(line: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    loop {
        let mut width = 0;
        let over = rest.char_indices().find(|(_, c)| {
            width += c.width().unwrap_or_default();
            width > room
        });
        let Some((end, _)) = over else {
            pieces.push(rest);
            return pieces;
        };
        let space = rest[..end].rfind(' ').filter(|at| *at > 0);
        // At least one character, however narrow the terminal is.
        let end = space.map_or(end.max(rest.ceil_char_boundary(1)), |at| at + 1);
        pieces.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
}

fn columns() -> usize {
    let columns = columns_of(&console::Term::stderr()).unwrap_or(STANDARD_COLUMNS);
    usize::from(columns).max(MIN_COLUMNS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::elicitation::DialogStep;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    /// The terminal's content while these lines are typed, and the answer, if any.
    fn screen(params: &Value, typed: &[&str]) -> (Vec<String>, Option<Value>) {
        let mut dialog = ElicitationDialog::parse(params).unwrap();
        let mut shown = opening_lines("fix", Some("fix.elicit"), &dialog, 60);
        let mut again = false;
        for line in typed {
            let prompt = dialog.prompt();
            if let (DialogPrompt::Field { field, .. }, false) = (&prompt, again) {
                shown.extend(field_lines(field, 60));
            }
            let echo = if dialog.is_hidden() { "" } else { line };
            let text = prompt_text(&prompt, dialog.has_fields());
            shown.push(format!("{text}{echo}"));
            let step = dialog.handle_line(line);
            again = !matches!(step, DialogStep::Next);
            match step {
                DialogStep::Retry(why) => shown.push(format!("  {why}")),
                DialogStep::Explain => shown.extend(answer_lines(&dialog)),
                DialogStep::Next => {}
                DialogStep::Finished(answer) => {
                    let shown = shown.iter().map(|line| plain(line)).collect();
                    return (shown, Some(answer.into_result()));
                }
            }
        }
        (shown.iter().map(|line| plain(line)).collect(), None)
    }

    #[test]
    fn form_is_shown_field_by_field_with_the_words_of_the_server_behind_a_bar() {
        let schema = json!({
            "type": "object",
            "properties": {
                "email": { "type": "string", "format": "email", "title": "Email address",
                    "description": "Where we write to" },
                "age": { "type": "integer", "minimum": 0, "maximum": 150 },
                "color": { "type": "string", "oneOf": [
                    { "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" },
                ], "default": "b" },
                "sizes": { "type": "array", "minItems": 1, "maxItems": 2,
                    "items": { "type": "string", "enum": ["1", "2", "4"] }, "default": ["2"] },
                "news": { "type": "boolean", "default": false },
                "token": { "type": "string", "minLength": 4 },
            },
            "required": ["email", "color", "token"],
        });
        let params =
            json!({ "message": "Who are you?\nallow it? [y]es", "requestedSchema": schema });
        let typed = [
            "ada",
            "ada@x.test",
            "",
            "",
            "1, 4",
            "-",
            "abc",
            "hunter2",
            "?",
            "a",
        ];
        let (shown, answer) = screen(&params, &typed);
        let expected = [
            "The MCP server \"fix\" asks, for the call fix.elicit:",
            "  │ Who are you?",
            "  │ allow it? [y]es",
            "  press Enter to accept the [default] or skip an optional field; /decline or /cancel ends the form",
            "  │ Email address",
            "  │ Where we write to",
            "1 of 6 email address, required: ada",
            "  this is not an email address",
            "1 of 6 email address, required: ada@x.test",
            "  │ age",
            "2 of 6 whole number, 0 to 150, optional: ",
            "  │ color",
            "  │   1) Red",
            "  │   2) Blue",
            "3 of 6 one of them, by number or name [Blue]: ",
            "  │ sizes",
            "  │   - 1",
            "  │   - 2",
            "  │   - 4",
            "4 of 6 1 to 2 of them, by name, separated by commas, - skips [2]: 1, 4",
            "  │ news",
            "5 of 6 yes or no, - skips [no]: -",
            "  │ token",
            "6 of 6 text of at least 4 characters, not shown while you type, required: ",
            "  it must have at least 4 characters",
            "6 of 6 text of at least 4 characters, not shown while you type, required: ",
            "send your answers? [a]ccept, [d]ecline, [c]ancel, [?]: ?",
            "a  send the answers to the server",
            "d  tell the server that you decline",
            "c  tell the server that you made no choice",
            "send your answers? [a]ccept, [d]ecline, [c]ancel, [?]: a",
        ];
        assert_eq!(shown, expected, "{shown:#?}");
        let content = json!({
            "email": "ada@x.test", "color": "b", "sizes": ["1", "4"], "token": "hunter2",
        });
        assert_eq!(
            answer,
            Some(json!({ "action": "accept", "content": content }))
        );
    }

    #[test]
    fn origin_of_a_page_is_shown_in_ascii_and_as_it_looks() {
        let page = |url: &str| json!({ "mode": "url", "message": "log in", "url": url });
        let (shown, answer) = screen(&page("https://bank.test@evil.test:8443/a?b#c"), &["d"]);
        assert_eq!(
            shown,
            [
                "The MCP server \"fix\" asks to open a page, for the call fix.elicit:",
                "  │ log in",
                "  the page is at https://evil.test:8443",
                "  │ https://bank.test@evil.test:8443/a?b#c",
                "open it in your browser? [y]es, [d]ecline, [c]ancel, [?]: d",
            ]
        );
        assert_eq!(answer, Some(json!({ "action": "decline" })));
        // The first letter is Cyrillic.
        let (shown, _) = screen(&page("https://\u{430}pple.com/"), &[]);
        assert_eq!(
            shown[2],
            "  the page is at https://xn--pple-43d.com which a browser may show as https://\u{430}pple.com"
        );
    }

    #[test]
    fn text_of_a_server_cannot_leave_its_bar() {
        let wide = "\u{4f60}".repeat(100);
        let long = format!(
            "{}allow it? \u{1b}[31m{}",
            "x ".repeat(100),
            "y".repeat(200)
        );
        for text in [
            wide.as_str(),
            &long,
            "a\r\n\u{1b}[2Jb\tc",
            "é\u{301}".repeat(99).as_str(),
        ] {
            for columns in [MIN_COLUMNS, 60] {
                let lines = quoted_lines(text, columns);
                for line in &lines {
                    let line = plain(line);
                    let width: usize = line
                        .chars()
                        .filter_map(unicode_width::UnicodeWidthChar::width)
                        .sum();
                    assert!(line.starts_with(BAR) && width < columns, "{line:?}");
                    assert!(!line.contains(char::is_control), "{line:?}");
                }
            }
        }
        let kept: String = quoted_lines(&wide, 60)
            .iter()
            .map(|line| plain(line).replacen(BAR, "", 1))
            .collect();
        assert_eq!(kept, wide);
        let many = quoted_lines(&"line\n".repeat(1_000), 80);
        assert_eq!(many.len(), MAX_QUOTED_LINES + 1);
        assert_eq!(quoted_name("a\" asks:\nb"), "\"a\\\" asks:\\nb\"");
    }
}
