//! The marks in the texts of a probe (`mux-fixture-server --probe`), found in what reached a model.

use std::collections::BTreeMap;

const MARK_CHARS: usize = 9;
const BLOCK_CHARS: usize = 100;

/// How much of a marked text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub chars: usize,
}

impl Passed {
    /// The marked text with this letter. Repeated text counts once.
    pub fn of(letter: char, text: &str) -> Self {
        let begin = format!("[{letter}");
        let mut blocks = BTreeMap::<&str, usize>::new();
        for (at, _) in text.match_indices(&begin) {
            let Some((mark, rest)) = text[at..].split_at_checked(MARK_CHARS) else {
                continue;
            };
            if !mark.ends_with(']') || mark[2..MARK_CHARS - 1].parse::<usize>().is_err() {
                continue;
            }
            let filled = rest.chars().take_while(|c| *c == '.').count();
            let chars = match MARK_CHARS + filled {
                // The block of a text in lines.
                line if line + 1 == BLOCK_CHARS && rest[filled..].starts_with('\n') => BLOCK_CHARS,
                chars => chars.min(BLOCK_CHARS),
            };
            let block = blocks.entry(mark).or_default();
            *block = chars.max(*block);
        }
        let chars = blocks.values().sum();
        Self { chars }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_characters_are_counted_once() {
        let block = |letter: char, at: usize| format!("{:.<100}", format!("[{letter}{at:06}]"));
        let whole: String = (0..300).step_by(100).map(|at| block('D', at)).collect();
        for (text, chars) in [
            (whole.clone(), 300),
            (format!("{whole}\n{whole}"), 300),
            (format!("{}… [truncated]", &whole[..248]), 248),
            (format!("head {} cut {}", &whole[..100], &whole[200..]), 200),
            (format!("{}\n{}\n", &whole[..99], &whole[100..180]), 180),
            (block('P', 0), 0),
            (String::new(), 0),
        ] {
            assert_eq!(Passed::of('D', &text).chars, chars, "{text}");
        }
    }
}
