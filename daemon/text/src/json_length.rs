//! The length of a value as JSON, without serializing it.
//!
//! Invariant: counting stops at the caller's limit.

use std::io;

use serde::Serialize;

/// The length in bytes, or `None` if it is more than `most`.
pub fn of(value: &impl Serialize, most: usize) -> Option<usize> {
    let mut counter = LengthCounter { left: most };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(most - counter.left)
}

struct LengthCounter {
    left: usize,
}

impl io::Write for LengthCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn length_is_that_of_the_text() {
        let value = json!({ "a": [1, 1e15, "é\n\""], "b": null });
        let length = value.to_string().len();
        assert_eq!(of(&value, 1000), Some(length));
        assert_eq!(of(&value, length), Some(length));
        assert_eq!(of(&value, length - 1), None);
    }
}
