//! Parts that a program emitted, for a person on standard error, and the result of a call with its parts.

use std::{io, path::PathBuf, process::ExitCode};

use super::terminal::eprintln;
use mux_proto::{Error, Held, Outcome};
use serde::Serialize;
use serde_json::Value;

use super::{
    display_path,
    failure::print_late_failure,
    human_units, note, output_exit_code, print_document, print_value,
    run_document::{OutcomeDocument, read_command},
    style::{DIM, escape_text, one_line, paint},
    terminal::print_data,
};
use crate::content_part::{ContentPart, PartContent};

/// The maximum length of a uri or MIME type, in characters.
const MAX_PART_NAME_CHARS: usize = 100;

/// Prints an emitted part: text unchanged, of other parts the type and size. Parts are numbered from 1.
pub(super) fn print_part(number: usize, part: &Held) {
    if let Some(text) = plain_text(part) {
        eprintln!("{}", escape_text(&text));
    } else {
        let label = paint(DIM, format!("part {number}:"));
        eprintln!("{label} {}", part_summary(part));
    }
}

/// Returns true if `emitted` does not print the whole part.
pub(super) fn needs_a_file(part: &Held) -> bool {
    plain_text(part).is_none()
}

fn plain_text(part: &Held) -> Option<String> {
    match part {
        Held::Value(block) => {
            let block = block.to_value();
            let is_text = block["type"] == "text";
            block["text"]
                .as_str()
                .filter(|_| is_text)
                .map(str::to_owned)
        }
        Held::Stored(_) => None,
    }
}

/// The type, size and uri of a part: `image/png, 12.3 KiB`.
pub(super) fn part_summary(part: &Held) -> String {
    match part {
        Held::Value(block) => {
            let part = ContentPart::parse_block(&block.to_value());
            let what = part.mime.as_deref().unwrap_or(&part.kind);
            let size = part.size().map(|size| human_units::size_text(size as u64));
            let uri = part
                .uri
                .as_deref()
                .map(|uri| one_line(uri, MAX_PART_NAME_CHARS));
            let facts = [Some(one_line(what, MAX_PART_NAME_CHARS)), size, uri];
            facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Held::Stored(handle) => format!(
            "{} of JSON; `{}` reads it",
            human_units::size_text(handle.bytes),
            read_command(handle)
        ),
    }
}

/// The files to which parts were written, and the error that stopped it.
#[derive(Default, Serialize)]
pub(crate) struct SavedParts {
    pub(crate) files: Vec<PathBuf>,
    #[serde(skip)]
    pub(crate) failure: Option<Error>,
}

/// Prints the document of a call.
pub(crate) fn call_document(held: &Held, saved: Option<&SavedParts>) -> ExitCode {
    let outcome = match held.clone() {
        Held::Value(value) => Outcome::Result(value),
        Held::Stored(handle) => Outcome::Stored(handle),
    };
    let failure = saved.and_then(|saved| saved.failure.as_ref());
    print_document(&OutcomeDocument::new(&outcome, failure, saved));
    ExitCode::from(failure.map_or(0, |error| error.kind.exit_code()))
}

/// Prints the result of a call. If `parts` has a binary part, texts go to standard output, and the types and sizes of
/// the other parts to standard error.
pub(crate) fn call_result(value: &Value, parts: &[Held], saved: Option<&SavedParts>) -> ExitCode {
    let parsed = parts.iter().map(|part| match part {
        Held::Value(block) => ContentPart::parse_block(&block.to_value()).content,
        Held::Stored(_) => PartContent::Block(Value::Null),
    });
    let contents: Vec<PartContent> = parsed.collect();
    let has_bytes = contents
        .iter()
        .any(|content| matches!(content, PartContent::Bytes(_)));
    let printed = if has_bytes {
        print_parts(parts, &contents)
    } else {
        print_value(value)
    };
    match saved {
        Some(saved) => {
            print_saved_parts(&saved.files);
            if saved.files.is_empty() && saved.failure.is_none() {
                note("the result has no parts to save");
            }
        }
        None if has_bytes => note("`--save-parts DIR` writes parts to files"),
        None => {}
    }
    let failure = saved.and_then(|saved| saved.failure.clone());
    print_late_failure(failure).unwrap_or_else(|| output_exit_code(printed))
}

fn print_parts(parts: &[Held], contents: &[PartContent]) -> io::Result<()> {
    for (index, (part, content)) in parts.iter().zip(contents).enumerate() {
        match content {
            PartContent::Text(text) if text.ends_with('\n') => print_data(text)?,
            PartContent::Text(text) => print_data(&format!("{text}\n"))?,
            PartContent::Bytes(_) | PartContent::Block(_) => print_part(index + 1, part),
        }
    }
    Ok(())
}

/// Prints that a part was written to a file.
pub(super) fn print_saved_parts(files: &[PathBuf]) {
    for (index, file) in files.iter().enumerate() {
        let label = paint(DIM, format!("part {}:", index + 1));
        eprintln!("{label} written to {}", display_path(file));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::run_document::tests::handle, *};

    #[test]
    fn part_is_described_by_type_size_and_uri() {
        for (part, text) in [
            (
                json!({ "type": "image", "data": "A".repeat(16_792), "mimeType": "image/png" }),
                "image/png, 12.3 KiB",
            ),
            (
                json!({ "type": "resource_link", "uri": "file:///a", "name": "a" }),
                "resource_link, file:///a",
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "x:\u{1b}", "text": "abc" } }),
                "resource, 3 B, x: ",
            ),
        ] {
            assert_eq!(part_summary(&Held::Value(part.into())), text);
        }
        assert_eq!(
            part_summary(&Held::Stored(handle())),
            "293.0 KiB of JSON; `mux runs read h_1` reads it"
        );
    }
}
