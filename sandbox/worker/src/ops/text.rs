//! The op for `mux.$parse`. It is a pure function.

use deno_core::{op2, serde_json::json};

use crate::text_formats::{self, ParseError, TextFormat};

/// Parses text in a format; an empty name lets the text decide. Returns `+` and the value as JSON text, or `-` and what
/// is wrong, also as JSON. Null if no format has the name.
#[op2]
#[string]
pub(super) fn op_mux_parse(#[string] text: String, #[string] format: String) -> Option<String> {
    let format = if format.is_empty() {
        None
    } else {
        Some(TextFormat::named(&format)?)
    };
    let parsed = text_formats::parse(&text, format);
    Some(parsed.map_or_else(
        |error| format!("-{}", error_json(&error)),
        |value| format!("+{value}"),
    ))
}

fn error_json(error: &ParseError) -> String {
    let format = error.format.map(TextFormat::name);
    let message = error.to_string();
    let details = json!({ "format": format, "line": error.line, "column": error.column });
    json!({ "message": message, "details": details }).to_string()
}
