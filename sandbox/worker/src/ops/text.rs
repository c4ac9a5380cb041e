//! The op for `mux.$parse`.

use deno_core::{OpState, op2, serde_json::json};

use crate::{
    bridge::OpBridge,
    text_formats::{self, ParseError, TextFormat},
};

/// Parses text in a format; with an empty name, the text decides. Returns `+` and the value as JSON, or `-` and the
/// error, also as JSON. Null if no format has the name. Integers in the value are remembered, as in results.
#[op2]
#[string]
pub(super) fn op_mux_parse(
    state: &mut OpState,
    #[string] text: &str,
    #[string] format: &str,
) -> Option<String> {
    let format = if format.is_empty() {
        None
    } else {
        Some(TextFormat::named(format)?)
    };
    let parsed = text_formats::parse(text, format);
    if let Ok(value) = &parsed {
        let bridge = state.borrow_mut::<OpBridge>();
        bridge.remember_integers(value, "`mux.$parse`");
    }
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
