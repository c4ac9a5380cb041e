//! YAML 1.2: one document, or an array of several.

use std::fmt;

use deno_core::serde::{
    Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{
    Budget, Error, MessageFormatter as _, NonFiniteFloatPolicy, Options, UserMessageFormatter,
    with_deserializer_from_str_with_options,
};

use super::{
    MAX_DEPTH, Problem,
    json_output::{JsonOutput, OutputTooLarge},
};

/// The maximum number of values in a text.
const MAX_NODES: usize = 1_000_000;
/// The maximum number of values that anchors keep, and that aliases stand for.
const MAX_ALIAS_NODES: usize = 100_000;
/// The maximum size of the strings that anchors keep.
const MAX_ANCHOR_BYTES: usize = 8 << 20;

pub(super) fn parse(text: &str) -> Result<String, Problem> {
    let documents = documents(text);
    let mut output = JsonOutput::default();
    let is_single = documents.len() == 1;
    let too_large = |OutputTooLarge| Problem::at(text, 0, Problem::too_large());
    if !is_single {
        output.raw("[").map_err(too_large)?;
    }
    for document in documents {
        let written = with_deserializer_from_str_with_options(document.text, options(), |source| {
            Transcoder(&mut output).deserialize(source)
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

/// True if a text begins as a list or as a map, in block style: nearly any other text is a string of YAML.
pub(super) fn is_list_or_map(text: &str) -> bool {
    let is_blank = |line: &&str| line.is_empty() || line.starts_with('#');
    let mut lines = text.lines().map(str::trim).skip_while(is_blank);
    let Some(first) = lines.next() else {
        return false;
    };
    let is_head = first == "-"
        || first.starts_with("- ")
        || first.starts_with("---")
        || first.starts_with(['%', '&', '!', '?']);
    is_head || first.contains(": ") || first.ends_with(':')
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
    // Comments and directives may stand before the first marker.
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
    // YAML 1.1 reads `no` and `on` as booleans; here they are strings.
    options.strict_booleans = true;
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    options.with_snippet = false;
    options
}

fn problem(document: &Document<'_>, error: &Error) -> Problem {
    let location = error.location();
    let place = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    let words = UserMessageFormatter.format_message(error);
    Problem {
        line: document.lines_before + place(location.map(|at| at.line())).unwrap_or(1).max(1),
        column: place(location.map(|at| at.column())).unwrap_or(1).max(1),
        problem: words.lines().next().unwrap_or_default().to_owned(),
    }
}

/// Writes a value as JSON while it is read: aliases are written each time, and kept nowhere.
struct Transcoder<'a>(&'a mut JsonOutput);

fn too_large<E: de::Error>(_: OutputTooLarge) -> E {
    E::custom(Problem::too_large())
}

impl<'de> DeserializeSeed<'de> for Transcoder<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcoder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.0.number(value).map_err(too_large)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.0.number(value).map_err(too_large)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.0.number(value).map_err(too_large)
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<(), E> {
        self.0.number(value).map_err(too_large)
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<(), E> {
        self.0.number(value).map_err(too_large)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.0.float(value).map_err(too_large)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.0.string(value).map_err(too_large)
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.raw("null").map_err(too_large)
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.raw("[").map_err(too_large)?;
        while items.next_element_seed(Transcoder(self.0))?.is_some() {
            self.0.raw(",").map_err(too_large)?;
        }
        self.0.end("]").map_err(too_large)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.raw("{").map_err(too_large)?;
        while let Some(key) = members.next_key::<String>()? {
            self.0.string(&key).map_err(too_large)?;
            self.0.raw(":").map_err(too_large)?;
            members.next_value_seed(Transcoder(self.0))?;
            self.0.raw(",").map_err(too_large)?;
        }
        self.0.end("}").map_err(too_large)
    }

    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<(), E> {
        Err(E::custom("bytes are no JSON"))
    }
}
