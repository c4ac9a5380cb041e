//! What a program handed over beside its result, for a person on standard error.

use super::terminal::eprintln;
use mux_proto::Held;

use super::{
    amounts,
    record::how_to_read,
    shown,
    style::{DIM, harmless, one_line, paint},
};
use crate::part::Part;

/// What of a uri or mime type is shown.
const NAME: usize = 100;

/// A part that has just come: text as it is, of everything else what and how much it is. They are
/// counted from 1.
pub(super) fn emitted(number: usize, part: &Held) {
    match plain_text(part) {
        Some(text) => eprintln!("{}", harmless(&text)),
        None => {
            let label = paint(DIM, format!("part {number}:"));
            eprintln!("{label} {}", described(part));
        }
    }
}

/// Whether a person has not seen all of it.
pub(super) fn needs_a_file(part: &Held) -> bool {
    plain_text(part).is_none()
}

fn plain_text(part: &Held) -> Option<String> {
    match part {
        Held::Value(block) if block["type"] == "text" => block["text"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// `image/png, 12.3 KiB`.
pub(super) fn described(part: &Held) -> String {
    match part {
        Held::Value(block) => {
            let part = Part::read(block);
            let what = part.mime.as_deref().unwrap_or(&part.kind);
            let size = part.size().map(|size| amounts::bytes(size as u64));
            let uri = part.uri.as_deref().map(|uri| one_line(uri, NAME));
            let told = [Some(one_line(what, NAME)), size, uri];
            told.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        Held::Stored(handle) => format!(
            "{} of JSON; `{}` reads it",
            amounts::bytes(handle.bytes),
            how_to_read(handle)
        ),
    }
}

/// A part that was written to a file.
pub(super) fn saved(number: usize, file: &std::path::Path) {
    let label = paint(DIM, format!("part {number}:"));
    eprintln!("{label} written to {}", shown(file));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::record::tests::handle, *};

    #[test]
    fn a_part_is_told_by_what_and_how_much_it_is() {
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
            assert_eq!(described(&Held::Value(part)), text);
        }
        assert_eq!(
            described(&Held::Stored(handle())),
            "293.0 KiB of JSON; `mux runs read h_1` reads it"
        );
    }
}
