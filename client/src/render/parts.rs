//! Parts that a program emitted, for a person on standard error.

use super::terminal::eprintln;
use mux_proto::Held;

use super::{
    amounts, display_path,
    record::read_command,
    style::{DIM, escape_text, one_line, paint},
};
use crate::part::ContentPart;

/// The maximum length of a uri or MIME type, in characters.
const MAX_PART_NAME_CHARS: usize = 100;

/// Prints an emitted part: text as it is, of others the type and size. Parts are numbered from 1.
pub(super) fn print_part(number: usize, part: &Held) {
    match plain_text(part) {
        Some(text) => eprintln!("{}", escape_text(&text)),
        None => {
            let label = paint(DIM, format!("part {number}:"));
            eprintln!("{label} {}", part_summary(part));
        }
    }
}

/// Whether `emitted` does not print the whole part.
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
            let size = part.size().map(|size| amounts::size_text(size as u64));
            let uri = part
                .uri
                .as_deref()
                .map(|uri| one_line(uri, MAX_PART_NAME_CHARS));
            let told = [Some(one_line(what, MAX_PART_NAME_CHARS)), size, uri];
            told.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Held::Stored(handle) => format!(
            "{} of JSON; `{}` reads it",
            amounts::size_text(handle.bytes),
            read_command(handle)
        ),
    }
}

/// Prints that a part was written to a file.
pub(super) fn print_saved_part(number: usize, file: &std::path::Path) {
    let label = paint(DIM, format!("part {number}:"));
    eprintln!("{label} written to {}", display_path(file));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::record::tests::handle, *};

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
