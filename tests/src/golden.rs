//! Comparison with files that are more than a record: generated pages, and data that programs read. `UPDATE_GOLDEN=1`
//! writes the current text. The output of commands is a snapshot instead (`output_snapshot`).

use std::{env, fs, path::Path};

use similar::TextDiff;

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
        Ok(expected) => {
            let lines = TextDiff::from_lines(expected.as_str(), actual);
            Err(format!("{shown}:\n{}", lines.unified_diff()))
        }
        Err(error) => Err(format!("{shown}: {error}; it would be:\n{actual}")),
    }
}
