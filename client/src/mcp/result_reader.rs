//! Results as a model reads them: one text and the non-text parts, cut to the length that the agent passes on.
//!
//! Agents put longer results into a file, or drop their middle. A part that is too long is stored instead, and its
//! beginning and its end are shown with its handle.
//!
//! Invariant: every omission is stated, and so is where the whole result is.

use std::borrow::Cow;

use mux_proto::{Error, Handle, Held, JsonText, KeepRequest, MuxClient, ReadRequest};
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::Value;

use super::{
    daemon_link::{DaemonConnection, DaemonLink},
    fence::ResultFence,
    profiles::AgentProfile,
    value_text::{is_shown_otherwise, value_text},
};

/// The size of the beginning of a cut part that is shown, in bytes and lines.
const HEAD_BYTES: usize = 2_000;
const TAIL_BYTES: usize = 1_000;
const HEAD_LINES: usize = 200;
const TAIL_LINES: usize = 100;
/// A part of this length is not cut.
pub(super) const MAX_UNCUT_BYTES: usize = HEAD_BYTES + TAIL_BYTES;
const MAX_UNCUT_LINES: usize = HEAD_LINES + TAIL_LINES;
/// A longer stored value is not read as a whole in order to find images in it.
const MAX_FETCHED_BYTES: u64 = 4 << 20;
/// Room for the fence and the separators between the parts.
const FRAME_BYTES: usize = 300;
/// Room for the notice about a part that is cut.
const NOTICE_BYTES: usize = 300;
/// A longer error message is cut. Agents cut errors earlier than results.
const MAX_ERROR_BYTES: usize = 8_000;

/// The form and the size of the results that this session's reader takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultReader {
    /// The built-in tools return structured content instead of text.
    pub(super) structured: bool,
    max_bytes: usize,
    max_lines: usize,
}

/// A result for a model.
#[derive(Debug, Default)]
pub(super) struct ModelResult {
    /// Our own words before the data.
    pub(super) before: Vec<String>,
    /// The parts that may be server data.
    pub(super) data: Vec<DataPart>,
    /// Our own words after the data.
    pub(super) after: Vec<String>,
}

#[derive(Debug)]
pub(super) enum DataPart {
    Text(DataText),
    Block(ContentBlock),
}

#[derive(Debug)]
pub(super) struct DataText {
    /// The subject of the notice if it is cut, such as "The result".
    what: Cow<'static, str>,
    text: String,
    state: TextState,
}

#[derive(Debug)]
enum TextState {
    /// Text that is stored as a JSON string if it is cut.
    Text,
    /// The text represents a value, which is stored if it is cut.
    Value(JsonText),
    /// The value is stored already, and the text is its beginning.
    Stored(Handle),
    /// The beginning of the text matters: it is cut only at its end.
    List,
    /// The text was cut.
    Cut,
}

impl DataPart {
    pub(super) fn text(what: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self::new(what, text.into(), TextState::Text)
    }

    /// A value, as `value_text` writes it.
    pub(super) fn value(what: impl Into<Cow<'static, str>>, value: &Value) -> Self {
        let state = TextState::Value(value.clone().into());
        Self::new(what, value_text(value), state)
    }

    /// A text that is the JSON of a value.
    pub(super) fn parsed(what: impl Into<Cow<'static, str>>, text: String, value: Value) -> Self {
        Self::new(what, text, TextState::Value(value.into()))
    }

    pub(super) fn stored(what: impl Into<Cow<'static, str>>, handle: Handle) -> Self {
        let text = handle.preview.clone();
        Self::new(what, text, TextState::Stored(handle))
    }

    /// A text of which the beginning matters most.
    pub(super) fn list(what: &'static str, text: String) -> Self {
        Self::new(what, text, TextState::List)
    }

    fn new(what: impl Into<Cow<'static, str>>, text: String, state: TextState) -> Self {
        let what = what.into();
        Self::Text(DataText { what, text, state })
    }
}

impl ResultReader {
    pub(super) fn new(profile: &AgentProfile, structured: bool) -> Self {
        Self {
            structured,
            max_bytes: profile.result_bytes,
            max_lines: profile.result_lines.unwrap_or(usize::MAX),
        }
    }

    /// The maximum length of a page of a stored value.
    pub(super) fn max_page_bytes(&self) -> u64 {
        self.max_bytes.saturating_sub(FRAME_BYTES) as u64
    }

    /// The content of a tool result. Parts that are too long are stored. The longest is cut first.
    pub(super) async fn content(
        &self,
        mut result: ModelResult,
        fence: Option<&ResultFence>,
        link: &DaemonLink,
    ) -> Vec<ContentBlock> {
        let mut notices = Vec::new();
        for part in result.texts_mut() {
            if let TextState::Stored(handle) = &part.state {
                let notice = stored_value_notice(&part.what, handle);
                let (text, which) = match read_both_ends(handle, link).await {
                    Ok((ends, form)) => (ends, form.both_ends()),
                    Err(_) => (handle.preview.clone(), BEGINNING.to_owned()),
                };
                part.text = text;
                part.state = TextState::Cut;
                notices.push(format!("{notice} {which}"));
            }
        }
        result.before.append(&mut notices);
        while !self.fits(&result) {
            let longest = result.texts_mut().filter(|part| part.can_be_cut());
            let Some(part) = longest.max_by_key(|part| part.text.len()) else {
                break;
            };
            let notice = self.cut(part, link).await;
            result.before.push(notice);
        }
        let data_bytes: usize = result.texts().map(|part| part.text.len()).sum();
        if !self.fits(&result) && data_bytes > MAX_UNCUT_BYTES {
            // Many short parts.
            let notice = self.cut_together(&mut result, link).await;
            result.before.push(notice);
        }
        result.into_content(fence)
    }

    fn fits(&self, result: &ModelResult) -> bool {
        let own = result.before.iter().chain(&result.after);
        let data = result.texts().map(|part| &part.text);
        let mut bytes = FRAME_BYTES;
        let mut line_count = 2;
        for text in own.chain(data) {
            bytes += text.len() + 1;
            line_count += count_lines(text);
        }
        bytes += result.resources().map(str::len).sum::<usize>();
        bytes <= self.max_bytes && line_count <= self.max_lines
    }

    /// Stores a text and cuts it. Returns the notice about it.
    async fn cut(&self, part: &mut DataText, link: &DaemonLink) -> String {
        let state = std::mem::replace(&mut part.state, TextState::Cut);
        let is_list = matches!(state, TextState::List);
        let (value, form) = match state {
            TextState::Value(value) => {
                let form = ShownForm::of(value.as_str(), &part.text);
                (value, form)
            }
            _ => (Value::from(part.text.as_str()).into(), ShownForm::Text),
        };
        let kept = keep(value, link).await;
        let notice = match &kept {
            Ok(handle) => stored_value_notice(&part.what, handle),
            Err(error) => not_stored_notice(&part.what, part.text.len(), error),
        };
        if is_list {
            let bytes = self.max_bytes.saturating_sub(FRAME_BYTES + NOTICE_BYTES);
            let lines = self.max_lines.saturating_sub(10);
            part.text = with_gap(&part.text, head(&part.text, bytes, lines), "");
            format!("{notice} {BEGINNING}")
        } else {
            part.text = both_ends(&part.text);
            format!("{notice} {}", form.both_ends())
        }
    }

    /// The value, read as a whole if it is stored and not too long: it may have images.
    pub(super) async fn fetch(&self, held: Held, connection: &DaemonConnection) -> Held {
        match held {
            Held::Stored(handle) if handle.bytes <= MAX_FETCHED_BYTES => {
                let value = connection.full_value(Held::Stored(handle.clone())).await;
                value.map_or(Held::Stored(handle), Held::Value)
            }
            held => held,
        }
    }

    /// Replaces all texts by one, which is stored and cut.
    async fn cut_together(&self, result: &mut ModelResult, link: &DaemonLink) -> String {
        let texts: Vec<&str> = result.texts().map(|part| part.text.as_str()).collect();
        let mut all = DataText {
            what: "The text of the result".into(),
            text: texts.join("\n"),
            state: TextState::Text,
        };
        let notice = self.cut(&mut all, link).await;
        result
            .data
            .retain(|part| matches!(part, DataPart::Block(_)));
        result.data.insert(0, DataPart::Text(all));
        notice
    }

    /// An error with a message that the reader takes. A longer one is stored.
    pub(super) async fn shorten_error(&self, error: Error, link: &DaemonLink) -> Error {
        if error.message.len() <= MAX_ERROR_BYTES {
            return error;
        }
        let kept = keep(Value::from(error.message.as_str()).into(), link).await;
        let whole = match kept {
            Ok(handle) => stored_value_notice("The message", &handle),
            Err(why) => not_stored_notice("The message", error.message.len(), &why),
        };
        let hint = error.agent_hint.as_ref().or(error.hint.as_ref());
        let hint = hint.map_or_else(|| whole.clone(), |hint| format!("{hint}\n{whole}"));
        Error {
            message: both_ends(&error.message),
            agent_hint: Some(hint),
            ..error
        }
    }
}

impl ModelResult {
    fn texts(&self) -> impl Iterator<Item = &DataText> {
        self.data.iter().filter_map(|part| match part {
            DataPart::Text(text) => Some(text),
            DataPart::Block(_) => None,
        })
    }

    fn texts_mut(&mut self) -> impl Iterator<Item = &mut DataText> {
        self.data.iter_mut().filter_map(|part| match part {
            DataPart::Text(text) => Some(text),
            DataPart::Block(_) => None,
        })
    }

    /// The texts of embedded resources.
    fn resources(&self) -> impl Iterator<Item = &str> {
        self.data.iter().filter_map(|part| match part {
            DataPart::Block(block) => resource_text(block),
            DataPart::Text(_) => None,
        })
    }

    /// The unchanged content. Adjacent texts are one block, because some agents join blocks without a line break.
    pub(super) fn into_content(self, fence: Option<&ResultFence>) -> Vec<ContentBlock> {
        let first = self.before.len();
        let mut content: Vec<ContentBlock> =
            self.before.into_iter().map(ContentBlock::text).collect();
        content.extend(self.data.into_iter().map(|part| match part {
            DataPart::Text(part) => ContentBlock::text(part.text),
            DataPart::Block(block) => block,
        }));
        if let Some(fence) = fence {
            fence.enclose(&mut content, first);
        }
        content.extend(self.after.into_iter().map(ContentBlock::text));
        let mut joined: Vec<ContentBlock> = Vec::new();
        for block in content {
            match (joined.last_mut(), block) {
                (Some(ContentBlock::Text(last)), ContentBlock::Text(next)) => {
                    last.text.push('\n');
                    last.text.push_str(&next.text);
                }
                (_, block) => joined.push(block),
            }
        }
        joined
    }
}

impl DataText {
    fn can_be_cut(&self) -> bool {
        let is_long =
            self.text.len() > MAX_UNCUT_BYTES || count_lines(&self.text) > MAX_UNCUT_LINES;
        is_long && !matches!(self.state, TextState::Cut)
    }
}

/// The text of an embedded resource.
pub(super) fn resource_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The form in which a stored value is shown. The value is stored as JSON, whose bytes `read` counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ShownForm {
    Json,
    Text,
    Yaml,
}

impl ShownForm {
    /// The form of a text that shows the value of some JSON.
    fn of(json: &str, shown: &str) -> Self {
        if json.trim_start().starts_with('"') {
            Self::Text
        } else if shown.starts_with(['{', '[']) || !json.starts_with(['{', '[']) {
            Self::Json
        } else {
            Self::Yaml
        }
    }

    fn both_ends(self) -> String {
        let form = match self {
            Self::Json => return "Its beginning and end:".to_owned(),
            Self::Text => "plain text",
            Self::Yaml => "YAML",
        };
        format!("Its beginning and end, as {form} (`read` counts bytes of the JSON):")
    }
}

const BEGINNING: &str = "Its beginning:";

/// Explains how to read a value that is too long.
fn stored_value_notice(what: &str, handle: &Handle) -> String {
    let Handle { handle, bytes, .. } = handle;
    format!(
        "{what} is {bytes} bytes of JSON, stored as {handle}: `read` gets parts of it, and a program all of it, \
         const all = await mux.read(\"{handle}\")."
    )
}

fn not_stored_notice(what: &str, bytes: usize, error: &Error) -> String {
    format!(
        "{what} is {bytes} bytes and could not be stored ({}): return less of it.",
        error.message
    )
}

async fn keep(value: JsonText, link: &DaemonLink) -> Result<Handle, Error> {
    link.request(30, KeepRequest { value }, MuxClient::keep)
        .await
}

async fn read_both_ends(handle: &Handle, link: &DaemonLink) -> Result<(String, ShownForm), Error> {
    let page = |offset: u64, length: u64| {
        let request = ReadRequest {
            handle: handle.handle.clone(),
            offset,
            length: Some(length),
        };
        link.request(30, request, MuxClient::read)
    };
    if handle.bytes <= MAX_FETCHED_BYTES {
        let whole = page(0, MAX_FETCHED_BYTES).await?;
        let value = serde_json::from_str::<Value>(&whole.text);
        let shown = value.ok().filter(is_shown_otherwise);
        let Some(shown) = shown.map(|value| value_text(&value)) else {
            return Ok((both_ends(&whole.text), ShownForm::Json));
        };
        let form = ShownForm::of(&whole.text, &shown);
        return Ok((both_ends(&shown), form));
    }
    let head = page(0, HEAD_BYTES as u64).await?.text;
    let tail_offset = handle.bytes.saturating_sub(TAIL_BYTES as u64);
    let tail = page(tail_offset, TAIL_BYTES as u64).await?.text;
    let bytes = usize::try_from(handle.bytes).unwrap_or(usize::MAX);
    let left_out = bytes.saturating_sub(head.len() + tail.len());
    Ok((gap(&head, left_out, &tail), ShownForm::Json))
}

/// The beginning and the end of a text.
pub(super) fn both_ends(text: &str) -> String {
    let begin = head(text, HEAD_BYTES, HEAD_LINES);
    let rest = &text[begin.len()..];
    with_gap(text, begin, tail(rest, TAIL_BYTES, TAIL_LINES))
}

/// The beginning of a text, within both limits.
fn head(text: &str, bytes: usize, lines: usize) -> &str {
    let begin = &text[..text.floor_char_boundary(bytes)];
    let line_end = begin.match_indices('\n').nth(lines.saturating_sub(1));
    &begin[..line_end.map_or(begin.len(), |(end, _)| end)]
}

/// The end of a text, within both limits.
fn tail(text: &str, bytes: usize, lines: usize) -> &str {
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..];
    let line_start = end.rmatch_indices('\n').nth(lines.saturating_sub(1));
    &end[line_start.map_or(0, |(start, _)| start + 1)..]
}

/// Two ends of a text, with a line between them that states the omitted length.
fn with_gap(text: &str, head: &str, tail: &str) -> String {
    gap(head, text.len() - head.len() - tail.len(), tail)
}

fn gap(head: &str, left_out: usize, tail: &str) -> String {
    if left_out == 0 {
        return format!("{head}{tail}");
    }
    format!("{head}\n[… {left_out} bytes are left out here …]\n{tail}")
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notice_names_the_form_that_is_not_the_stored_one() {
        for (value, form, words) in [
            (json!({ "a": 1 }), ShownForm::Json, "Its beginning and end:"),
            (json!(1), ShownForm::Json, "Its beginning and end:"),
            (
                json!("{ }"),
                ShownForm::Text,
                "end, as plain text (`read` counts",
            ),
            (
                json!([{ "a": "x\ny" }]),
                ShownForm::Yaml,
                "end, as YAML (`read` counts",
            ),
        ] {
            let shown = ShownForm::of(&value.to_string(), &value_text(&value));
            assert_eq!(shown, form, "{value}");
            assert!(form.both_ends().contains(words), "{}", form.both_ends());
        }
    }

    #[test]
    fn ends_of_a_text_are_within_bytes_and_lines() {
        let short = "a\nb";
        assert_eq!(both_ends(short), short);
        let line = "ä".repeat(5_000);
        let cut = both_ends(&line);
        assert!(cut.len() < MAX_UNCUT_BYTES + 60, "{}", cut.len());
        assert!(cut.contains("[… 7000 bytes are left out here …]"), "{cut}");
        let lines = "5\n".repeat(13_000);
        let cut = both_ends(&lines);
        assert!(
            count_lines(&cut) <= MAX_UNCUT_LINES + 3,
            "{}",
            count_lines(&cut)
        );
        assert!(cut.contains("bytes are left out here"), "{cut}");
        let middle = "0\n".repeat(250);
        assert_eq!(both_ends(&middle), middle);
    }
}
