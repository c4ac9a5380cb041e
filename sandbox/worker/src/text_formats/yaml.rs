//! YAML 1.2: one document, or an array of several.

use std::fmt;

use deno_core::serde::{
    Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{
    Budget, Error, Location, MessageFormatter as _, NonFiniteFloatPolicy, Options,
    UserMessageFormatter, with_deserializer_from_str_with_options,
};

use super::{
    MAX_DEPTH, ParseError,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The maximum number of values in a text.
const MAX_NODES: usize = 1_000_000;
/// The maximum number of values that anchors keep, and that aliases stand for.
const MAX_ALIAS_NODES: usize = 100_000;
/// The maximum size of the strings that anchors keep.
const MAX_ANCHOR_BYTES: usize = 8 << 20;
/// The maximum size of a key that is a list or a map, as JSON text. Each level of such keys escapes the levels within.
const MAX_COLLECTION_KEY_BYTES: usize = 64 << 10;
/// The maximum length of the header of a block, such as `|2-`.
const MAX_BLOCK_HEADER: usize = 3;
/// The name by which serde-saphyr gives the location of a value beside it, as it does for its type `Spanned`, which
/// contains the value.
const SPANNED: &str = "__yaml_spanned";

pub(super) fn parse(text: &str) -> Result<String, ParseError> {
    let documents = documents(text);
    let mut output = JsonOutput::default();
    let is_single = documents.len() == 1;
    let too_large = |OutputTooLarge| ParseError::at(text, 0, ParseError::too_large());
    if !is_single {
        output.raw("[").map_err(too_large)?;
    }
    for document in documents {
        let written = with_deserializer_from_str_with_options(document.text, options(), |source| {
            let output = &mut output;
            let document = document.text;
            Transcoder { output, document }.deserialize(source)?;
            Ok(())
        });
        written.map_err(|error| problem(&document, &error))?;
        if !is_single {
            output.raw(",").map_err(too_large)?;
        }
    }
    if !is_single {
        output.end("]").map_err(too_large)?;
    }
    Ok(output.into_text())
}

/// Returns true if a text is certainly a list or a map in block style: nearly any other text is a YAML string, and a
/// line such as `Error: not found` is a sentence. So a map needs two keys, or one key without blanks that either has a
/// list, a map or a block as its value, or is a name such as `total_count`.
pub(super) fn is_list_or_map(text: &str) -> bool {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = text.lines().filter(is_content);
    let Some(first) = lines.next().map(str::trim_end) else {
        return false;
    };
    let is_head = is_item(first) || first == "---" || first.starts_with("--- ");
    if is_head || first.starts_with(['%', '&', '!']) {
        return true;
    }
    if first.starts_with("? ") {
        return lines.any(|line| line.starts_with(':'));
    }
    let Some((key, value)) = split_key(first) else {
        return false;
    };
    if key.starts_with(['"', '\'']) {
        return true;
    }
    let is_plain_key = !key.contains(char::is_whitespace);
    // A single line is data if its key is a name as programs write it.
    if is_plain_key && lines.clone().next().is_none() {
        return key.starts_with(|c: char| c.is_lowercase() || c == '_');
    }
    let is_block = value.starts_with(['|', '>']) && value.len() <= MAX_BLOCK_HEADER;
    let is_member = |line: &str| split_key(line).is_some();
    let mut second = lines.map(|line| (line, line.trim()));
    second.any(|(line, content)| {
        let is_nested = is_item(content) || is_member(content);
        let is_sibling = !line.starts_with(char::is_whitespace) && is_member(content);
        is_sibling || (is_plain_key && (is_block || is_nested))
    })
}

/// True for an item of a list in block style.
fn is_item(line: &str) -> bool {
    let rest = line.strip_prefix('-');
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// The key of a line and the text behind it. A colon ends a key if a blank or the end of the line follows.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let mut colons = line.match_indices(':').map(|(at, _)| at);
    let end = colons.find(|at| {
        let rest = &line[at + 1..];
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    })?;
    (end > 0).then(|| (&line[..end], line[end + 1..].trim()))
}

struct Document<'a> {
    text: &'a str,
    /// The number of lines before it.
    lines_before: usize,
}

/// The documents between lines that begin with `---`.
fn documents(text: &str) -> Vec<Document<'_>> {
    let mut starts = vec![(0, 0)];
    let mut byte = 0;
    for (line, content) in text.split_inclusive('\n').enumerate() {
        let marker = content.strip_prefix("---");
        if marker.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            starts.push((byte, line));
        }
        byte += content.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(start, _)| *start).collect();
    let ends = ends.into_iter().chain([text.len()]);
    let pieces = starts.into_iter().zip(ends);
    let mut documents: Vec<Document<'_>> = pieces
        .map(|((start, lines_before), end)| Document {
            text: &text[start..end],
            lines_before,
        })
        .collect();
    // Comments and directives may precede the first marker.
    let is_preamble = |document: &Document<'_>| {
        let mut lines = document.text.lines().map(str::trim_end);
        lines.all(|line| line.is_empty() || line.starts_with(['#', '%']))
    };
    if documents.len() > 1 && is_preamble(&documents[0]) {
        documents.remove(0);
    }
    documents
}

fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    budget.max_nodes = MAX_NODES;
    budget.max_events = 3 * MAX_NODES;
    budget.max_recorded_anchor_events = MAX_ALIAS_NODES;
    budget.max_recorded_anchor_bytes = MAX_ANCHOR_BYTES;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_ALIAS_NODES;
    // YAML 1.1 reads `no` and `on` as booleans and `1_000` as a number; here they are strings.
    options.strict_booleans = true;
    options.underscored_numbers_as_strings = true;
    // A number with leading zeros is an id such as a postal code.
    options.leading_zero_numbers_as_strings = true;
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    options.with_snippet = false;
    options
}

fn problem(document: &Document<'_>, error: &Error) -> ParseError {
    let location = error.location();
    let place = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    let words = UserMessageFormatter.format_message(error);
    ParseError {
        format: None,
        line: document.lines_before + place(location.map(|at| at.line())).unwrap_or(1).max(1),
        column: place(location.map(|at| at.column())).unwrap_or(1).max(1),
        problem: words.lines().next().unwrap_or_default().to_owned(),
    }
}

/// Writes a value as JSON while it is read: aliases are written each time, and kept nowhere.
struct Transcoder<'a> {
    output: &'a mut JsonOutput,
    document: &'a str,
}

/// Writes the key of a map: JSON names members by strings only.
struct KeyTranscoder<'a>(Transcoder<'a>);

/// The kind of a value that was written.
enum Written<'a> {
    Null,
    /// A number or a boolean, with its source.
    Plain(&'a str),
    String,
    Collection,
}

/// Reads a value that has its location beside it.
struct SpannedVisitor<'a>(Transcoder<'a>);

/// Writes a value without regard to its source.
struct ValueTranscoder<'b, 'a>(&'b mut Transcoder<'a>);

fn too_large<E: de::Error>(_: OutputTooLarge) -> E {
    E::custom(ParseError::too_large())
}

/// True for the numbers of YAML 1.1 that are strings in YAML 1.2, such as `0b11`.
fn is_old_number(source: &str) -> bool {
    let unsigned = source.trim_start_matches(['+', '-']);
    let is_signed = unsigned.len() < source.len();
    let starts_with =
        |prefixes: &[&str]| prefixes.iter().any(|prefix| unsigned.starts_with(prefix));
    starts_with(&["0b", "0B", "0X", "0O"]) || (is_signed && starts_with(&["0x", "0o"]))
}

/// The source of a value. Empty if it is not known.
fn source_at(document: &str, location: Location) -> &str {
    let span = location.span();
    let byte = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    let begin = byte(span.byte_offset());
    let length = byte(span.byte_len());
    let range = begin
        .zip(length)
        .map(|(begin, length)| begin..begin + length);
    let source = range.and_then(|range| document.get(range));
    source.unwrap_or_default().trim()
}

impl<'de, 'a> DeserializeSeed<'de> for Transcoder<'a> {
    type Value = Written<'a>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Written<'a>, D::Error> {
        source.deserialize_newtype_struct(SPANNED, SpannedVisitor(self))
    }
}

impl<'de> DeserializeSeed<'de> for KeyTranscoder<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        let Transcoder { output, document } = self.0;
        let begin = output.len();
        let transcoder = Transcoder {
            output: &mut *output,
            document,
        };
        let name = match transcoder.deserialize(source)? {
            Written::String => return Ok(()),
            Written::Null => "null".to_owned(),
            Written::Plain(source) if !source.is_empty() => source.to_owned(),
            Written::Plain(_) | Written::Collection => output.since(begin).to_owned(),
        };
        if name.len() > MAX_COLLECTION_KEY_BYTES {
            let limit = MAX_COLLECTION_KEY_BYTES >> 10;
            return Err(de::Error::custom(format!(
                "a key is longer than {limit} KiB"
            )));
        }
        output.truncate(begin);
        output.string(&name).map_err(too_large)
    }
}

impl<'de, 'a> Visitor<'de> for SpannedVisitor<'a> {
    type Value = Written<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its location")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> Result<Written<'a>, D::Error> {
        source.deserialize_any(self)
    }

    /// The members are a mark, the value, and the locations of its use and of its definition.
    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Written<'a>, A::Error> {
        members.next_entry::<IgnoredAny, IgnoredAny>()?;
        let begin = self.0.output.len();
        members.next_key::<IgnoredAny>()?;
        let written = members.next_value_seed(ValueTranscoder(&mut self.0))?;
        members.next_entry::<IgnoredAny, Location>()?;
        let defined = members.next_entry::<IgnoredAny, Location>()?;
        let Written::Plain(_) = written else {
            return Ok(written);
        };
        let source = defined.map_or("", |(_, location)| source_at(self.0.document, location));
        if is_old_number(source) {
            self.0.output.truncate(begin);
            self.0.output.string(source).map_err(too_large)?;
            return Ok(Written::String);
        }
        Ok(Written::Plain(source))
    }
}

impl<'de, 'a> DeserializeSeed<'de> for ValueTranscoder<'_, 'a> {
    type Value = Written<'a>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Written<'a>, D::Error> {
        source.deserialize_any(self)
    }
}

impl ValueTranscoder<'_, '_> {
    fn nested(&mut self) -> Transcoder<'_> {
        Transcoder {
            output: &mut *self.0.output,
            document: self.0.document,
        }
    }

    fn raw<E: de::Error>(&mut self, json: &str) -> Result<(), E> {
        self.0.output.raw(json).map_err(too_large)
    }

    fn plain<'a, E: de::Error>(self, value: impl fmt::Display) -> Result<Written<'a>, E> {
        self.0.output.number(value).map_err(too_large)?;
        Ok(Written::Plain(""))
    }
}

impl<'de, 'a> Visitor<'de> for ValueTranscoder<'_, 'a> {
    type Value = Written<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Written<'a>, E> {
        self.plain(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Written<'a>, E> {
        self.plain(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Written<'a>, E> {
        self.plain(value)
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Written<'a>, E> {
        self.plain(value)
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Written<'a>, E> {
        self.plain(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Written<'a>, E> {
        self.0.output.float(value).map_err(too_large)?;
        Ok(Written::Plain(""))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Written<'a>, E> {
        self.0.output.string(value).map_err(too_large)?;
        Ok(Written::String)
    }

    fn visit_unit<E: de::Error>(mut self) -> Result<Written<'a>, E> {
        self.raw("null")?;
        Ok(Written::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Written<'a>, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Written<'a>, D::Error> {
        source.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> Result<Written<'a>, D::Error> {
        source.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Written<'a>, A::Error> {
        self.raw("[")?;
        while items.next_element_seed(self.nested())?.is_some() {
            self.raw(",")?;
        }
        self.0.output.end("]").map_err(too_large)?;
        Ok(Written::Collection)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Written<'a>, A::Error> {
        self.raw("{")?;
        while members
            .next_key_seed(KeyTranscoder(self.nested()))?
            .is_some()
        {
            self.raw(":")?;
            members.next_value_seed(self.nested())?;
            self.raw(",")?;
        }
        self.0.output.end("}").map_err(too_large)?;
        Ok(Written::Collection)
    }

    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<Written<'a>, E> {
        Err(E::custom("bytes are not JSON"))
    }
}
