//! Strips invisible characters from server strings before models and terminals see them.
//!
//! Invisible characters (controls, bidirectional marks, zero widths, tags) can carry instructions to a model or rewrite
//! a terminal. Only prose is changed: names, constants and defaults of a schema are kept, because calls must use them
//! exactly. The variation selector that asks for a colored emoji stays, once after each emoji.
//!
//! Invariant: every description is sanitized once, when its tool is created.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use serde_json::{Map, Value};

/// The maximum length of a description in a list, in bytes. `describe` shows all of it. See also
/// `sandbox/typegen/src/sanitize.rs`, which cuts descriptions in declarations.
const MAX_SHOWN_DESCRIPTION_BYTES: usize = 4 << 10;
/// The maximum length of a server's instructions, in bytes.
const MAX_INSTRUCTIONS_BYTES: usize = 16 << 10;
/// Schema keywords whose values are prose.
const PROSE_KEYWORDS: &[&str] = &["description", "title", "$comment", "markdownDescription"];
/// Schema keywords whose values are data, and are never changed.
const VALUE_KEYWORDS: &[&str] = &[
    "const", "enum", "default", "examples", "example", "required",
];

/// The text without invisible characters, and with line ends normalized.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            EMOJI_STYLE if cleaned.ends_with(is_emoji) => cleaned.push(EMOJI_STYLE),
            // A keycap, such as 1\u{fe0f}\u{20e3}.
            EMOJI_STYLE if letters.peek() == Some(&'\u{20e3}') => cleaned.push(EMOJI_STYLE),
            unseen if is_unseen(unseen) => {}
            seen => cleaned.push(seen),
        }
    }
    Cow::Owned(cleaned)
}

/// The beginning of a description that is too long for a list, with a pointer to the rest, or `None` if it is not.
pub fn shortened(text: &str, path: &str) -> Option<String> {
    let (head, rest) = beginning(text)?;
    Some(format!(
        "{head}… ({rest} more bytes; mux.describe(\"{path}\") has all)"
    ))
}

/// A server's instructions, sanitized and truncated, or `None` if they are then empty.
pub fn readable_instructions(text: &str) -> Option<Arc<str>> {
    let text = clean(text);
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_INSTRUCTIONS_BYTES);
    match text.len() - end {
        0 if text.is_empty() => None,
        0 => Some(text.into()),
        rest => Some(format!("{}… ({rest} more bytes are left out)", &text[..end]).into()),
    }
}

/// The beginning of a string that is too long, and the number of bytes that follow.
fn beginning(text: &str) -> Option<(&str, usize)> {
    if text.len() <= MAX_SHOWN_DESCRIPTION_BYTES {
        return None;
    }
    let head = &text[..text.floor_char_boundary(MAX_SHOWN_DESCRIPTION_BYTES)];
    Some((head, text.len() - head.len()))
}

/// Sanitizes all prose in a schema.
pub fn clean_schema(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(clean_schema),
        Value::Object(members) => clean_members(members),
        _ => {}
    }
}

/// Sanitizes all prose in the members of an object, recursively.
pub fn clean_members(members: &mut Map<String, Value>) {
    let mut clean_words = |words: &mut String| {
        if let Cow::Owned(cleaned) = clean(words) {
            *words = cleaned;
        }
    };
    change_prose(members, &mut clean_words);
}

/// Truncates all prose in a schema. Returns whether any was too long.
pub fn shorten_schema(schema: &mut Value) -> bool {
    let mut is_shorter = false;
    let mut shorten_words = |words: &mut String| {
        if let Some((head, rest)) = beginning(words) {
            *words = format!("{head}… ({rest} more bytes)");
            is_shorter = true;
        }
    };
    change_prose_in(schema, &mut shorten_words);
    is_shorter
}

fn change_prose_in(schema: &mut Value, change: &mut impl FnMut(&mut String)) {
    match schema {
        Value::Array(schemas) => {
            let schemas = schemas.iter_mut();
            schemas.for_each(|schema| change_prose_in(schema, change));
        }
        Value::Object(members) => change_prose(members, change),
        _ => {}
    }
}

fn change_prose(members: &mut Map<String, Value>, change: &mut impl FnMut(&mut String)) {
    for (name, member) in members {
        match member {
            Value::String(words) if PROSE_KEYWORDS.contains(&name.as_str()) => change(words),
            Value::Array(_) | Value::Object(_) if VALUE_KEYWORDS.contains(&name.as_str()) => {}
            other => change_prose_in(other, change),
        }
    }
}

/// Appends a string with its invisible characters escaped as in JSON.
pub fn push_visible(shown: &mut String, text: &str) {
    for letter in text.chars() {
        if is_unseen(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
}

/// Asks for the colored form of the character before it.
const EMOJI_STYLE: char = '\u{fe0f}';

/// Returns true if a character may have a colored form.
fn is_emoji(letter: char) -> bool {
    matches!(letter,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}'
        | '\u{231a}'..='\u{23ff}' | '\u{24c2}' | '\u{25aa}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Returns true if a character is invisible: it has no glyph, or only affects its neighbors.
pub fn is_unseen(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        other => {
            other.is_control()
                || matches!(other,
                    '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                    | '\u{180b}'..='\u{180f}'
                    // Zero widths, bidirectional marks, line separators.
                    | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{3164}' | '\u{ffa0}' | '\u{feff}'
                    // Variation selectors, which can encode arbitrary bytes.
                    | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
                    | '\u{fff0}'..='\u{fffb}'
                    | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                    // Tags: an invisible alphabet.
                    | '\u{e0000}'..='\u{e0fff}')
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invisible_characters_are_stripped() {
        for unseen in [
            '\0',
            '\u{7}',
            '\u{8}',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202b}',
            '\u{202c}',
            '\u{202d}',
            '\u{202e}',
            '\u{2060}',
            '\u{2061}',
            '\u{2062}',
            '\u{2063}',
            '\u{2064}',
            '\u{2066}',
            '\u{2067}',
            '\u{2068}',
            '\u{2069}',
            '\u{206a}',
            '\u{206f}',
            '\u{3164}',
            '\u{feff}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            assert_eq!(
                clean(&format!("a{unseen}b")),
                "ab",
                "{}",
                unseen.escape_unicode()
            );
        }
        for kept in [
            "two\n\tlines",
            "größer 漢字 नमस्ते שלום مرحبا 😀 é e\u{301}",
            "",
        ] {
            assert!(
                matches!(clean(kept), Cow::Borrowed(text) if text == kept),
                "{kept}"
            );
        }
        assert_eq!(clean("a\r\nb\rc\u{2028}d\u{85}e"), "a\nb\nc\nd\ne");
    }

    #[test]
    fn emoji_keep_their_style_and_nothing_else_does() {
        for kept in [
            "⚠\u{fe0f} careful",
            "1\u{fe0f}\u{20e3}",
            "✅ ❤\u{fe0f}",
            "🗑\u{fe0f}",
        ] {
            assert_eq!(clean(kept), kept);
        }
        for (text, cleaned) in [
            ("⚠\u{fe0f}\u{fe0f}\u{fe0e}x", "⚠\u{fe0f}x"),
            ("a\u{fe0f}b1\u{fe0f}", "ab1"),
            ("⚠\u{fe01}\u{e0100}", "⚠"),
            ("\u{fe0f}⚠", "⚠"),
        ] {
            assert_eq!(clean(text), cleaned, "{text}");
        }
    }

    #[test]
    fn schema_prose_is_shortened_apart_from_cleaning() {
        let long = "é".repeat(MAX_SHOWN_DESCRIPTION_BYTES);
        let mut schema = json!({ "properties": { "a": { "description": long, "default": long } } });
        let whole = schema.clone();
        clean_schema(&mut schema);
        assert_eq!(schema, whole);
        assert!(shorten_schema(&mut schema));
        let short = schema["properties"]["a"]["description"].as_str().unwrap();
        assert!(short.ends_with("(4096 more bytes)"), "{short}");
        assert_eq!(schema["properties"]["a"]["default"], long);
        assert!(!shorten_schema(&mut json!({ "description": "d" })));
    }

    #[test]
    fn schema_keeps_names_and_values() {
        let mut schema = json!({
            "title": "T\u{200b}",
            "description": "D\u{202e}",
            "properties": {
                "description": { "type": "string", "description": "d\u{feff}", "default": "\u{200b}" },
                "k\u{200b}": { "enum": ["e\u{200b}"], "const": { "description": "c\u{200b}" } },
            },
            "anyOf": [{ "description": "any\u{e0041}" }],
        });
        clean_schema(&mut schema);
        assert_eq!(
            schema,
            json!({
                "title": "T",
                "description": "D",
                "properties": {
                    "description": { "type": "string", "description": "d", "default": "\u{200b}" },
                    "k\u{200b}": { "enum": ["e\u{200b}"], "const": { "description": "c\u{200b}" } },
                },
                "anyOf": [{ "description": "any" }],
            })
        );
    }

    #[test]
    fn instructions_are_cleaned_and_bounded() {
        assert_eq!(readable_instructions(" \u{200b}\n"), None);
        let text = readable_instructions("\u{202e}Call setup first.\r\nThen work.\n").unwrap();
        assert_eq!(&*text, "Call setup first.\nThen work.");
        let long = readable_instructions(&"é".repeat(MAX_INSTRUCTIONS_BYTES)).unwrap();
        assert!(
            long.ends_with("(16384 more bytes are left out)"),
            "{}",
            long.len()
        );
    }

    #[test]
    fn shortened_text_names_where_the_rest_is() {
        assert_eq!(
            shortened(&"x".repeat(MAX_SHOWN_DESCRIPTION_BYTES), "a.b"),
            None
        );
        let short = shortened(&"é".repeat(MAX_SHOWN_DESCRIPTION_BYTES), "a.b").unwrap();
        assert!(
            short.len() < MAX_SHOWN_DESCRIPTION_BYTES + 100,
            "{}",
            short.len()
        );
        assert!(
            short.ends_with("(4096 more bytes; mux.describe(\"a.b\") has all)"),
            "{short}"
        );
    }
}
