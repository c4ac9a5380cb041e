//! Comparison with recorded text. `UPDATE_GOLDEN=1` records the current text.

use std::{env, fs, path::Path};

/// Compares a text with a file, or writes the file. A difference is returned as an error.
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the developer who records, not a setting"
)]
pub fn compare(file: &Path, actual: &str) -> Result<(), String> {
    let shown = file.display();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(file, actual).map_err(|e| format!("{shown}: {e}"));
    }
    match fs::read_to_string(file) {
        Ok(expected) if expected == actual => Ok(()),
        Ok(expected) => Err(format!("{shown}:\n{}", difference(&expected, actual))),
        Err(error) => Err(format!("{shown}: {error}; it would be:\n{actual}")),
    }
}

/// The lines in which the texts differ, without their common beginning and end.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let removed = old[..old.len() - end]
        .iter()
        .map(|line| format!("- {line}"));
    let added = new[..new.len() - end]
        .iter()
        .map(|line| format!("+ {line}"));
    let lines: Vec<String> = removed.chain(added).collect();
    format!("line {}:\n{}", start + 1, lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_omits_common_start_and_end() {
        assert_eq!(
            difference("a\nb\nc\n", "a\nx\ny\nc\n"),
            "line 2:\n- b\n+ x\n+ y"
        );
        assert_eq!(difference("a\n", "a\nb\n"), "line 2:\n+ b");
    }
}
