//! The parts of the document that come from the types: the signatures of methods from TypeScript's, and the kinds of
//! errors.

use std::{fmt::Write as _, fs};

use mux_proto::Kind;
use mux_tests::editors::source;
use strum::{EnumMessage as _, IntoEnumIterator as _};

const KINDS_HEAD: &str = "| kind | recoverable | |\n|---|---|---|\n";

/// The document with the signature of each method below its heading, and the present kinds of errors.
pub(super) fn with_types(document: &str) -> String {
    let types = fs::read_to_string(source("client/typescript/src/messages.ts")).unwrap();
    let (before, rest) = document.split_once(KINDS_HEAD).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let document = format!("{before}{KINDS_HEAD}{}\n{after}", kinds());
    let mut sections = document.split("\n### `");
    let mut written = sections.next().unwrap().to_owned();
    for section in sections {
        let (method, body) = section.split_once("`\n\n").unwrap();
        let signature = signature(&types, method);
        let body = match body.split_once('\n') {
            Some((former, body)) if former.starts_with("`{") => body.to_owned(),
            _ => format!("\n{body}"),
        };
        _ = write!(written, "\n### `{method}`\n\n{signature}\n{body}");
    }
    written
}

/// `` `{ hello: Hello } → Welcome` ``.
fn signature(types: &str, method: &str) -> String {
    let head = format!("\n  {method}: {{ params: ");
    let (_, rest) = types
        .split_once(&head)
        .unwrap_or_else(|| panic!("no type of {method}"));
    let line = rest.lines().next().unwrap().trim_end_matches(" };");
    let (params, answer) = line.split_once("; answer: ").unwrap();
    let params = params.replace("Record<string, never>", "{}");
    format!("`{params} → {answer}`")
}

/// The rows of the table.
fn kinds() -> String {
    let row = |kind: Kind| {
        let recoverable = if kind.is_recoverable() { "yes" } else { "no" };
        let doc = kind.get_documentation().unwrap();
        format!("| `{kind}` | {recoverable} | {doc} |\n")
    };
    Kind::iter().map(row).collect()
}
