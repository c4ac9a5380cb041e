//! How much memory JSON text takes as a value, without the value.
//!
//! Sixteen megabytes of `[1,1,1…]` are eight million values of 72 bytes each, and an object takes several times as
//! much as what stands in it. So whoever reads JSON of a stranger looks at its weight first.
//!
//! Invariant: what weighs no more than a limit takes at most some hundred bytes for each unit of it.

/// As it is told beside a limit.
pub(super) const RULE: &str = "where an object counts as four";
/// What an object takes beside its members, in values.
const OBJECT: usize = 4;

/// In values; none if that is more than `most`. Of text that is no JSON it is the weight of something.
pub(super) fn of(text: &[u8], most: usize) -> Option<usize> {
    let mut weight = 1_usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        weight += match byte {
            b'"' => {
                // Nothing counts up to its end.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
                0
            }
            b',' | b'[' => 1,
            b'{' => OBJECT,
            _ => 0,
        };
        if weight > most {
            return None;
        }
    }
    Some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_stands_in_texts_is_none() {
        for (text, weight) in [
            ("1", 1),
            ("[1,[2],3]", 5),
            ("{\"a\": {\"b\": 1, \"c\": 2}}", 10),
            ("[\"a,[{\\\",\", \"\\\\\", 1]", 4),
        ] {
            assert_eq!(of(text.as_bytes(), weight), Some(weight), "{text}");
            assert_eq!(of(text.as_bytes(), weight - 1), None, "{text}");
        }
    }
}
