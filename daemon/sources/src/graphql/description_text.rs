//! Shortens the descriptions of a schema to the available room.

/// The first sentences that fit into `most` bytes. `None` for an empty text or without room.
pub(super) fn brief(text: Option<&str>, most: usize) -> Option<String> {
    let text = text?.trim();
    if text.is_empty() || most == 0 {
        return None;
    }
    if text.len() <= most {
        return Some(text.to_owned());
    }
    let head = &text[..text.floor_char_boundary(most)];
    let sentence = head.rfind(". ").map(|end| &head[..=end]);
    let word = || {
        head.rsplit_once(char::is_whitespace)
            .map(|(words, _)| words)
    };
    let cut = sentence.filter(|sentence| sentence.len() > most / 3);
    Some(match cut {
        Some(sentence) => sentence.to_owned(),
        None => format!("{}…", word().unwrap_or(head).trim_end()),
    })
}

/// A description, with a note if the item is deprecated.
pub(super) fn with_warning(
    description: Option<&str>,
    deprecated: Option<&str>,
    most: usize,
) -> Option<String> {
    let said = brief(description, most);
    let Some(why) = deprecated else {
        return said;
    };
    let why = brief(Some(why), most.max(60)).unwrap_or_default();
    let warning = format!("Deprecated: {why}");
    Some(match said {
        Some(said) => format!("{said} {warning}"),
        None => warning,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_description_is_cut_at_a_sentence_or_a_word() {
        for (text, most, expected) in [
            ("Short.", 20, Some("Short.")),
            ("One thing. Another thing.", 15, Some("One thing.")),
            ("one two three four", 12, Some("one two…")),
            ("onetwothreefour", 6, Some("onetwo…")),
            ("ääää", 3, Some("ä…")),
            ("  ", 9, None),
            ("words", 0, None),
        ] {
            assert_eq!(brief(Some(text), most).as_deref(), expected, "{text}");
        }
        assert_eq!(
            with_warning(Some("An id."), Some("use `id`"), 99).as_deref(),
            Some("An id. Deprecated: use `id`")
        );
    }
}
